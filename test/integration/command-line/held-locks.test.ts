import { describe, expect, it } from '@jest/globals';
import { RedisScene } from '../../faults/redis-scene.js';
import { CommandLine, runHere, type Ended } from '../../support/command-line.js';
import { TestFolder } from '../../support/test-folder.js';
import { until } from '../../support/until.js';

/** Text with control characters. */
const HOSTILE = 'red \u001b[31m\nnext\u0007\u009b1m\u202Eltr <script> \'"$(id)`';

interface ShownLocks {
  readonly locks: readonly ShownLock[];
  readonly total: number;
}

interface ShownLock {
  readonly key: string;
  readonly holders: readonly { readonly label: string | null }[];
}

function documentOf({ stdout }: Ended): unknown {
  expect(stdout.endsWith('\n')).toBe(true);
  expect(stdout.trimEnd()).not.toContain('\n');
  return JSON.parse(stdout) as unknown;
}

const addressOf = (url: string): string => new URL(url).host;

/** Only lines of printable characters. */
function expectPrintable(text: string): void {
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{C}\u2028\u2029]/u);
}

describe('O25: nestjs-distributed-lock list', () => {
  const scene = new RedisScene();

  it('shows the oldest hold first, and the permits of a semaphore', async () => {
    const app = await scene.app();
    const [first, second] = [scene.key(), scene.key()];
    const old = await app.locks.acquire(first, { label: 'import' });
    await until('time has passed', () => Date.now() > old.acquiredAt + 5);
    await app.locks.acquire(second, { limit: 3, permits: 2 });
    await app.locks.acquire(second, { limit: 3 });
    const { stdout, stderr } = await runHere(['list', '--redis', scene.url]);
    expect(stderr).toBe(`2 locks in Redis at ${addressOf(scene.url)}, prefix "lock:".\n`);
    const { pid } = process;
    expect(stdout.trimEnd().split('\n')).toEqual(
      [
        /^KEY +MODE +HELD BY +LABEL +TOKEN +HELD FOR +LEASE LEFT +WAITING$/,
        new RegExp(`^${first} +exclusive +\\S+ pid ${pid} +import +${old.token} +\\S.*\\s0$`),
        new RegExp(`^${second} +limit 3, 0 free +\\S+ pid ${pid} and 1 more +- +\\d+ +\\S.*\\s0$`),
      ].map((line): unknown => expect.stringMatching(line)),
    );
    const { locks } = documentOf(
      await runHere(['list', '--json'], { env: { LOCK_REDIS_URL: scene.url } }),
    ) as ShownLocks;
    expect(locks.map(({ key }) => key)).toEqual([first, second]);
    expect(locks[1]).toMatchObject({
      limit: 3,
      permits: { held: 3, free: 0 },
      holders: [{ permits: 2 }, { permits: 1 }],
    });
  });

  it('shows matching keys up to the limit, and the total', async () => {
    const app = await scene.app();
    const keys = Array.from({ length: 5 }, (_, index) => `job:${String(index)}`);
    for (const key of [...keys, 'other']) {
      const held = await app.locks.acquire(key);
      await until('time has passed', () => Date.now() > held.acquiredAt + 2);
    }
    const { locks, total } = documentOf(
      await runHere(['list', '--json', '--redis', scene.url, '--match', 'job:*', '--limit', '2']),
    ) as ShownLocks;
    expect(locks.map(({ key }) => key)).toEqual(['job:0', 'job:1']);
    expect(total).toBe(5);
    const text = await runHere(['list', '--redis', scene.url, '--limit=2', '--match=job:?']);
    expect(text.stdout.trimEnd().split('\n')).toHaveLength(3);
    expect(text.stderr).toBe(
      `2 of 5 locks in Redis at ${addressOf(scene.url)}, prefix "lock:"; --limit 5 shows all.\n`,
    );
  });

  it('reports that no lock is held, and exits with 0', async () => {
    expect(await runHere(['list', '--redis', scene.url])).toEqual({
      code: 0,
      signal: null,
      stdout: '',
      stderr: `No lock is held in Redis at ${addressOf(scene.url)}, prefix "lock:".\n`,
    });
    const json = await runHere(['list', '--redis', scene.url, '--json']);
    expect(json).toMatchObject({ code: 0, stderr: '' });
    const where = `Redis at ${addressOf(scene.url)}, prefix "lock:"`;
    expect(documentOf(json)).toEqual({ locks: [], total: 0, where });
  });

  it('escapes control characters for a terminal, and keeps them in JSON', async () => {
    const app = await scene.app();
    await app.locks.acquire(HOSTILE, { label: '\u001b]0;title\u0007' });
    for (const args of [['list'], ['show', HOSTILE], ['list', '--json'], ['show', HOSTILE, '--json']]) {
      const { code, stdout } = await runHere([...args, '--redis', scene.url]);
      expect(code).toBe(0);
      expectPrintable(stdout);
      expect(stdout).toContain(String.raw`red \u001b[31m`);
    }
    const json = await runHere(['show', HOSTILE, '--json', '--redis', scene.url]);
    const { key, holders } = documentOf(json) as ShownLock;
    expect({ key, label: holders[0]?.label }).toEqual({ key: HOSTILE, label: '\u001b]0;title\u0007' });
  });
});

describe('O25: nestjs-distributed-lock show', () => {
  const scene = new RedisScene();

  it('exits with 1 for a key that is free', async () => {
    const free = await runHere(['show', 'nobody', '--redis', scene.url]);
    expect(free).toMatchObject({ code: 1, stdout: 'nobody is free\n', stderr: '' });
    const json = await runHere(['show', 'nobody', '--redis', scene.url, '--json']);
    expect(json).toMatchObject({ code: 1, stdout: 'null\n' });
  });

  it('accepts a key that begins with a dash after --', async () => {
    const app = await scene.app();
    await app.locks.acquire('--json');
    expect(await runHere(['show', '--redis', scene.url, '--', '--json'])).toMatchObject({ code: 0 });
  });
});

describe('O25: nestjs-distributed-lock break', () => {
  const scene = new RedisScene();

  it('reports that a lock is already free', async () => {
    const ended = await runHere(['break', 'nobody', '--token=5', '-y', '--redis', scene.url, '--json']);
    expect(ended).toMatchObject({ code: 1, stdout: '{"broken":false,"reason":"free","lock":null}\n' });
  });

  it('requires --yes without a terminal', async () => {
    const app = await scene.app();
    const key = scene.key();
    const held = await app.locks.acquire(key);
    const args = ['break', key, '--token', String(held.token), '--redis', scene.url];
    expect(await CommandLine.run(args, { input: 'y\n' })).toMatchObject({
      code: 64,
      stdout: '',
      stderr:
        'nestjs-distributed-lock: There is no terminal for the confirmation: add --yes to break the lock.\n',
    });
    expect(held.isHeld).toBe(true);
    expect(await app.locks.isLocked(key)).toBe(true);
  });
});

describe('O25: nestjs-distributed-lock, with any command', () => {
  const scene = new RedisScene();
  it('exits with 69 when the password is wrong or the user lacks rights, and shows no password', async () => {
    const wrong = await runHere([
      'show',
      'k',
      '--json',
      '--redis',
      `redis://me:geheim@${addressOf(scene.url)}`,
    ]);
    expect(wrong).toMatchObject({ code: 69, stdout: '' });
    expect(JSON.parse(wrong.stderr)).toEqual({
      error: {
        code: 'LOCK_UNAVAILABLE',
        exitCode: 69,
        message: expect.stringContaining('WRONGPASS'),
      },
    });
    const redis = await scene.server.addUser('lacking', 'geheim', ['~lock:*', '+ping', '+info']);
    const list = await runHere(['list', '--redis', redis]);
    expect(list).toMatchObject({ code: 69, stdout: '' });
    expect(list.stderr).toContain('To allow it: ACL SETUSER lacking +scan.');
    const lock = await CommandLine.run(['lock', 'k', '--wait=0', '--redis', redis, '--', 'true']);
    expect(lock).toMatchObject({ code: 69, stdout: '', stderr: expect.stringContaining('NOPERM') });
    expect(wrong.stderr + list.stderr + lock.stderr).not.toContain('geheim');
  });

  it('prints its version', async () => {
    expect(await CommandLine.run(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n', stderr: '' });
  });

  describe('with a configuration file', () => {
    const folder = new TestFolder();

    it.each([
      ['options.mjs', (redis: string) => `export default { redis: '${redis}', keyPrefix: 'own:' };`],
      ['options.cjs', (redis: string) => `module.exports = { redis: '${redis}', keyPrefix: 'own:' };`],
      [
        'compiled.cjs',
        (redis: string) =>
          `Object.defineProperty(exports, '__esModule', { value: true }); exports.default = { redis: '${redis}', keyPrefix: 'own:' };`,
      ],
      [
        'function.mjs',
        (redis: string) =>
          `export default async () => ({ redis: '${redis}', keyPrefix: 'own:', name: 'billing', isGlobal: false, onUnavailable: 'local' });`,
      ],
    ])('accepts what forRoot accepts: %s', async (name, text) => {
      const app = await scene.app({ keyPrefix: 'own:' });
      await app.locks.acquire('a');
      const config = await folder.write(name, text(scene.url));
      const ended = await CommandLine.run(['show', 'a', '--config', config]);
      expect(ended).toMatchObject({ code: 0, stderr: '' });
    });

    it.each([
      ['export const redis = 1;', 'its default export must be options'],
      ["export default { store: 'memory' };", 'are visible only in the process that has them'],
      ['export default {};', 'give exactly one of redis, quorum and store'],
      [
        "export default () => { throw new Error('no secret at redis://me:geheim@host'); };",
        'its function failed',
      ],
      ["throw new Error('broken \\u001b[31m');", 'could not be loaded'],
    ])('exits with 64 for %s', async (text, message) => {
      const ended = await CommandLine.run(['list', '--config', await folder.write('wrong.mjs', text)]);
      expect(ended).toMatchObject({ code: 64, stdout: '' });
      expect(ended.stderr).toContain(message);
      expect(ended.stderr).not.toContain('geheim');
      expectPrintable(ended.stderr);
    });
  });
});
