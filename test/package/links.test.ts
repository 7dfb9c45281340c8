import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { exampleNames } from '../../.scripts/demo/examples.mjs';

const root = join(import.meta.dirname, '../..');

/** A file or folder in the text of a page, relative to the root, `lib/` or `lib/stores/redis/`. */
const FILE_NAME =
  /`((?:lib|lua|test|bench|docs|\.scripts|\.ci|nest|api|engine|stores|model|common|connection|doctor|scripts)\/[\w./-]*)`/g;

/** A file of the repository in a code block of a page. */
const FILE_IN_CODE = /(?<![\w./-])((?:lib|lua|test|bench)\/[\w./-]+\.\w+)/g;

interface Link {
  readonly page: string;
  readonly target: string;
}

/** The anchors of a page as GitHub creates them from headings, with a number for repeated ones. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = withoutCode(text).matchAll(/^#{1,6} +(.+?) *#*$/gm);
  const anchors = [...headings].map(([, heading = '']) => {
    const shown = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = shown.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${String(before)}`;
  });
  return new Set(anchors);
}

function withoutCode(text: string): string {
  return text.replace(/^( *)(```|~~~)[^]*?^ *\2 *$/gm, '');
}

function linksOf(page: string, text: string): Link[] {
  const inline = withoutCode(text).replace(/`[^`\n]*`/g, '');
  const targets = [
    ...inline.matchAll(/\]\(([^()\s]+)(?: "[^"]*")?\)/g),
    ...inline.matchAll(/^\[[^\]]+\]: *(\S+)/gm),
    ...inline.matchAll(/(?:src|href)="([^"]+)"/g),
  ];
  return targets.map(([, target = '']) => ({ page, target }));
}

describe('the pages of the package', () => {
  let packed: ReadonlySet<string>;
  let links: readonly Link[];
  const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

  beforeAll(() => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
    const report = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' })) as
      { files: { path: string }[] }[] | Record<string, { files: { path: string }[] }>;
    const [pack] = Object.values(report) as { files: { path: string }[] }[];
    packed = new Set(pack?.files.map(({ path }) => path));
    const pages = [...packed].filter((path) => path.endsWith('.md'));
    links = pages.flatMap((page) => linksOf(page, textOf(page)));
  });

  it('link only to files of the package', () => {
    expect(links.length).toBeGreaterThan(50);
    const files = [...packed];
    const broken = links.filter(({ page, target }) => {
      const [path = ''] = target.split('#');
      if (path === '' || /^[a-z]+:/i.test(path)) return false;
      const file = normalize(join(dirname(page), path));
      return !packed.has(file) && !files.some((name) => name.startsWith(`${file.replace(/\/$/, '')}/`));
    });
    expect(broken).toEqual([]);
  });

  it('come with the source of every example', () => {
    expect(exampleNames().filter((name) => !packed.has(`examples/${name}/src/main.ts`))).toEqual([]);
  });

  it('name only existing files', () => {
    const named = [...packed]
      .filter((path) => path.endsWith('.md'))
      .flatMap((page) => [...textOf(page).matchAll(FILE_NAME)].map(([, name = '']) => ({ page, name })));
    expect(named.length).toBeGreaterThan(50);
    const isThere = (name: string): boolean =>
      ['', 'lib', 'lib/stores/redis'].some((folder) => existsSync(join(root, folder, name)));
    expect(named.filter(({ name }) => !isThere(name))).toEqual([]);
  });

  it('name only existing files in code blocks', () => {
    const pages = [...packed].filter((path) => path.endsWith('.md'));
    const missing = pages.flatMap((page) =>
      [...textOf(page).matchAll(/^( *)(?:```|~~~)[^]*?^ *(?:```|~~~) *$/gm)]
        .flatMap(([block]) => [...block.matchAll(FILE_IN_CODE)].map(([, name = '']) => name))
        .filter((name) => !existsSync(join(root, name)))
        .map((name) => `${page}: ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('link only to existing headings', () => {
    const broken = links.filter(({ page, target }) => {
      const [path = '', anchor] = target.split('#');
      if (anchor === undefined || /^[a-z]+:/i.test(path)) return false;
      const file = path === '' ? page : normalize(join(dirname(page), path));
      return file.endsWith('.md') && packed.has(file) && !anchorsOf(textOf(file)).has(anchor);
    });
    expect(broken).toEqual([]);
  });
});
