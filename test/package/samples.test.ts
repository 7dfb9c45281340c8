import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { exampleNames } from '../../.scripts/applications/examples.mjs';
import { compileErrors, isQuoted, pages, samplesOf, type Sample } from './samples.js';

const root = join(import.meta.dirname, '../..');

describe('samples in the documentation', () => {
  let samples: readonly Sample[];
  let errors: readonly string[];

  beforeAll(() => {
    samples = pages().flatMap(samplesOf);
    errors = compileErrors(samples);
  }, 300_000);

  it('compile, with their imports, against the built package', () => {
    expect(errors).toEqual([]);
  });

  it('equal the file that they quote', () => {
    const quotes = samples.filter(({ from }) => from !== undefined);
    expect(quotes.length).toBeGreaterThan(0);
    expect(quotes.filter((quote) => !isQuoted(quote))).toEqual([]);
  });

  it('quote every example, which has a test and a line in the list', () => {
    const list = readFileSync(join(root, 'examples/README.md'), 'utf8');
    const lacking = exampleNames().filter(
      (name) =>
        !samples.some(
          ({ page, from }) => page.startsWith('docs/') && from?.startsWith(`examples/${name}/`),
        ) ||
        !existsSync(join(root, `test/examples/${name}.test.ts`)) ||
        !list.includes(`[${name}](${name})`),
    );
    expect(lacking).toEqual([]);
  });

  it('show their imports to the reader', () => {
    const hidden = samples.filter(({ given }) => /^\s*import\b/m.test(given));
    expect(hidden.map(({ page, line }) => `${page}:${String(line)}`)).toEqual([]);
  });

  it('are checked: an error in one is reported at its line', () => {
    const wrong: Sample = {
      page: 'README.md',
      line: 10,
      name: undefined,
      from: undefined,
      given: 'declare const key: number;',
      code: "import type { LockService } from 'nestjs-distributed-lock';\nexport const f = (locks: LockService) => locks.acquire(key);\n",
    };
    expect(compileErrors([wrong])).toEqual([
      "README.md:11: Argument of type 'number' is not assignable to parameter of type 'LockKey'.",
    ]);
  });
});
