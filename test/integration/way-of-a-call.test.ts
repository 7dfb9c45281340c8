import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RedisServer } from '../support/redis-server.js';

/** The way must not grow. Lower these when it has become shorter; anonymous functions count. */
const LIMITS = { files: 31, functions: 218 };

const path = (relative: string): string => fileURLToPath(new URL(`../../${relative}`, import.meta.url));

describe('the path of one call', () => {
  let server: RedisServer | undefined;

  beforeAll(async () => {
    server = await RedisServer.start();
  });

  afterAll(() => server?.stop());

  it('leads through exactly the files that docs/internals/architecture.md names', async () => {
    const script = path('test/support/way-of-a-call.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [
      script,
      path('build/cjs/index.js'),
      server?.url ?? '',
    ]);
    const { files, functions } = JSON.parse(stdout) as { files: string[]; functions: number };
    const used = files.map((file) => file.replace(/^lib\//, ''));
    const docs = await readFile(path('docs/internals/architecture.md'), 'utf8');
    const [, section = ''] = /## The way of one call([^]*?)\nA held lock/.exec(docs) ?? [];
    const named = [...section.matchAll(/`((?:api|model|engine|stores|common)\/[\w/.-]+\.ts)`/g)].map(
      ([, file]) => file,
    );
    expect([...new Set(named)].sort()).toEqual(used.sort());
    expect(used.length).toBeLessThanOrEqual(LIMITS.files);
    expect(functions).toBeLessThanOrEqual(LIMITS.functions);
  });
});

describe('the states of the engine', () => {
  /** Rows without their padding. */
  const rowsOf = (text: string, rows: RegExp): readonly string[] =>
    [...text.matchAll(rows)].map(([, row = '']) => row.replace(/ +/g, ' ').replace(/-+/g, '-'));

  it.each(['hold', 'ticket', 'turn'])(
    'of a %s are on docs/internals/architecture.md as in the code',
    async (part) => {
      const table = rowsOf(await readFile(path(`lib/engine/${part}.ts`), 'utf8'), /^ \* (\|.*)$/gm);
      const page = rowsOf(await readFile(path('docs/internals/architecture.md'), 'utf8'), /^(.*)$/gm);
      expect(table[0]).toMatch(new RegExp(`^\\| state of the ${part} \\|`));
      expect(table.length).toBeGreaterThan(6);
      // The empty line around it: no row is missing.
      expect(`\n${page.join('\n')}`).toContain(`\n\n${table.join('\n')}\n\n`);
    },
  );
});
