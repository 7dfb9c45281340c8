import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');
/** The pattern itself cites no rule. */
const CODE = /\b[BOPF]\d{1,2}\b/g;

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

function filesIn(folder: string, ending: RegExp): SourceFile[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => ending.test(name) && !name.includes('node_modules'))
    .map((name) => ({
      path: `${folder}/${name}`,
      text: readFileSync(join(root, folder, name), 'utf8'),
    }));
}

/** The rules that docs/internals/rules.md defines, with the kinds of tests that it names for each. */
function definedRules(): Map<string, readonly string[]> {
  const page = readFileSync(join(root, 'docs/internals/rules.md'), 'utf8');
  const items = page.matchAll(/^- \*\*([BOPF]\d{1,2})\*\* ([^]*?)(?=\n- |\n\n|$(?![^]))/gm);
  return new Map(
    [...items].map(([, code = '', text = '']) => {
      const kinds = /_([a-z,\s]+)_\s*$/.exec(text)?.[1] ?? '';
      return [code, kinds.split(/,\s+/).filter((kind) => kind !== '')];
    }),
  );
}

/** The kinds of tests that name a rule at the beginning of a title, such as `'B12, P41: …'`. */
function testedRules(): Map<string, Set<string>> {
  const tested = new Map<string, Set<string>>();
  for (const { path, text } of filesIn('test', /\.(test|rules|contract)\.ts$/)) {
    const kind = path.split('/')[1] ?? '';
    for (const [title] of text.matchAll(/['"`](?:[BOPF]\d{1,2}(?:, )?)+:/g)) {
      for (const [code] of title.matchAll(CODE)) {
        tested.set(code, (tested.get(code) ?? new Set()).add(kind));
      }
    }
  }
  return tested;
}

const files = [
  ...filesIn('lib', /\.ts$/),
  ...filesIn('lua', /\.lua$/),
  ...filesIn('test', /\.(ts|mts|mjs|c)$/),
];
const cited = files.flatMap(({ path, text }) => [...text.matchAll(CODE)].map(([code]) => ({ code, path })));

describe('docs/internals/rules.md', () => {
  const defined = definedRules();

  it('defines every rule that code, scripts or tests cite', () => {
    expect(cited.length).toBeGreaterThan(500);
    const unknown = cited.filter(({ code }) => !defined.has(code));
    expect([...new Set(unknown.map(({ code, path }) => `${code} in ${path}`))]).toEqual([]);
  });

  it('defines no rule twice', () => {
    const page = readFileSync(join(root, 'docs/internals/rules.md'), 'utf8');
    const codes = [...page.matchAll(/\*\*([BOPF]\d{1,2})\*\*/g)].map(([, code = '']) => code);
    expect(codes).toEqual([...defined.keys()]);
  });

  it('defines only tested rules, with the kinds of tests that it names', () => {
    const tested = testedRules();
    const untested = [...defined].flatMap(([code, kinds]) => {
      if (kinds.length === 0) return [`${code} does not say how it is tested`];
      return kinds
        .filter((kind) => tested.get(code)?.has(kind) !== true)
        .map((kind) => `${code} has no test in test/${kind} whose title begins with it`);
    });
    expect(untested).toEqual([]);
  });
});
