import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RedisServer } from '../support/redis-server.js';

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
    // The way must not grow. Lower these when it has become shorter.
    expect(used.length).toBeLessThanOrEqual(34);
    expect(functions).toBeLessThanOrEqual(245);
  });
});

describe('the machine of a key', () => {
  it('has the table that docs/internals/architecture.md shows', async () => {
    const source = await readFile(path('lib/engine/machine/key-machine.ts'), 'utf8');
    const table = [...source.matchAll(/^ \* (\|.*)$/gm)].map(([, line]) => line);
    expect(table.length).toBeGreaterThan(15);
    expect(await readFile(path('docs/internals/architecture.md'), 'utf8')).toContain(table.join('\n'));
  });
});
