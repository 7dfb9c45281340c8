import { describe, expect, it } from '@jest/globals';
import { RedisScene } from '../../faults/redis-scene.js';
import { CommandLine } from '../../support/command-line.js';
import { TestFolder } from '../../support/test-folder.js';
import { until } from '../../support/until.js';
import { lockIn, node, SIGNALS, UNTIL_ENDED } from './command-under-lock.js';

describe('O26: nestjs-distributed-lock lock', () => {
  const scene = new RedisScene();
  const folder = new TestFolder();

  const lock = (args: readonly string[]): CommandLine => lockIn(scene, args);

  it('runs the command under the lock with its input, outputs, environment and exit code, and releases the lock', async () => {
    const app = await scene.app();
    const key = scene.key();
    const script = `
      process.stderr.write('to stderr');
      const { LOCK_KEY, LOCK_TOKEN, MINE } = process.env;
      console.log(JSON.stringify({ LOCK_KEY, LOCK_TOKEN, MINE, args: process.argv.slice(1) }));
      process.stdin.on('data', (chunk) => process.stdout.write(chunk)).on('end', () => process.exit(7));`;
    const args = ['$HOME', '*', 'a b', '--wait', '--', '`id`'];
    const child = CommandLine.start(['lock', key, '--label', 'nightly', ...node(script, ...args)], {
      env: { LOCK_REDIS_URL: scene.url, MINE: 'kept' },
      input: 'from stdin',
    });
    const ended = await child.ended();
    const [line = '', ...rest] = ended.stdout.split('\n');
    expect(rest.join('\n')).toBe('from stdin');
    expect(ended).toMatchObject({ code: 7, signal: null, stderr: 'to stderr' });
    const seen = JSON.parse(line) as { LOCK_KEY: string; LOCK_TOKEN: string; MINE: string; args: string[] };
    expect(seen).toMatchObject({ LOCK_KEY: key, MINE: 'kept', args });
    const after = await app.locks.acquire(key, { waitTime: 0 });
    expect(after.token).toBeGreaterThan(Number(seen.LOCK_TOKEN));
  });

  it('hides the address of the store, which may contain a password, from the command by default', async () => {
    const show = node("console.log('LOCK_REDIS_URL' in process.env, process.env.LOCK_REDIS_URL)");
    expect(await lock([scene.key(), ...show]).ended()).toMatchObject({
      code: 0,
      stdout: 'false undefined\n',
    });
    const passed = await lock([scene.key(), '--pass-redis-url', ...show]).ended();
    expect(passed).toMatchObject({ code: 0, stdout: `true ${scene.url}\n` });
    // Even if the locks are in another store.
    const elsewhere = lockIn(scene, [scene.key(), '--redis', scene.url, ...show], {
      env: { LOCK_REDIS_URL: 'redis://:secret@nowhere' },
    });
    expect(await elsewhere.ended()).toMatchObject({ code: 0, stdout: 'false undefined\n' });
  });

  it('accepts a key that begins with a dash after --', async () => {
    const child = lock([
      '--',
      '-dash',
      ...node('console.log(process.env.LOCK_KEY, process.argv[1])', '--', 'x'),
    ]);
    expect(await child.ended()).toMatchObject({ code: 0, stdout: '-dash x\n', stderr: '' });
    expect(await lock(['--', '-dash', '--']).ended()).toMatchObject({ code: 64 });
  });

  it('holds the lock while the command runs, with the name of the command as label', async () => {
    const app = await scene.app();
    const key = scene.key();
    const running = lock([key, ...node(UNTIL_ENDED)]);
    const [, pid = ''] = await running.wrote(/pid (\d+)/);
    const info = await app.admin.inspect(key);
    expect(info).toMatchObject({ label: 'node', mode: 'exclusive', process: { pid: running.pid } });
    process.kill(Number(pid), 'SIGKILL');
    // A command ended by a signal, as shells report it.
    expect(await running.exited()).toMatchObject({ code: 137, stderr: '' });
    expect(await app.locks.isLocked(key)).toBe(false);
  });

  it('exits with 75 when others hold the lock, names the holder, and does not run the command', async () => {
    const app = await scene.app();
    const key = scene.key();
    const held = await app.locks.acquire(key, { label: 'import' });
    for (const wait of ['0', '50ms']) {
      const ended = await lock([key, '--wait', wait, ...node("console.log('ran')")]).ended();
      expect(ended).toMatchObject({ code: 75, stdout: '' });
      expect(ended.stderr).toMatch(
        new RegExp(
          `^nestjs-distributed-lock: The lock "${key}" .*Held by \\S+ pid ${process.pid} \\("import"\\), token ${held.token}, `,
        ),
      );
    }
    const ended = await lock([key, '--json', '--wait=0', ...node('')]).ended();
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: 'LOCK_TIMEOUT', exitCode: 75 } });
    expect((await app.admin.inspect(key))?.waiters).toEqual([]);
  });

  it('exits with the code that --busy-exit-code names when others hold the lock', async () => {
    const app = await scene.app();
    const key = scene.key();
    await app.locks.acquire(key);
    const skipped = ['--wait=0', '--busy-exit-code=0', ...node("console.log('ran')")];
    const ended = await lock([key, ...skipped]).ended();
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    expect(ended.stderr).toMatch(/is held by another caller.* Held by /);
    // Other failures keep their codes.
    expect(await lock([scene.key(), '--busy-exit-code=0', '--', 'no-such-program']).ended()).toMatchObject({
      code: 127,
    });
    for (const wrong of ['256', '-1', 'x', ''])
      expect(await lock([key, `--busy-exit-code=${wrong}`, ...node('')]).ended()).toMatchObject({
        code: 64,
        stderr: 'nestjs-distributed-lock: --busy-exit-code must be a whole number from 0 to 255.\n',
      });
  });

  it('passes TERM, HUP, INT, USR1 and USR2 on to the command, and waits for its end', async () => {
    const app = await scene.app();
    const key = scene.key();
    const running = lock([key, ...node(SIGNALS)]);
    await running.wrote(/ready/);
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'] as const) {
      await running.kill(signal);
      await running.wrote(new RegExp(signal));
    }
    expect(await app.locks.isLocked(key)).toBe(true);
    await running.kill('SIGTERM');
    const ended = await running.ended();
    // USR1 does not start Node's debugger.
    expect(ended).toMatchObject({ code: 3, stderr: '' });
    expect(ended.stdout).toBe('ready\nSIGHUP\nSIGINT\nSIGUSR1\nSIGUSR2\nSIGTERM\n');
    expect(await app.locks.isLocked(key)).toBe(false);
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 130],
  ] as const)('ends its wait at %s with %i, and leaves nothing behind', async (signal, code) => {
    const app = await scene.app();
    const key = scene.key();
    const held = await app.locks.acquire(key);
    const waiting = lock([key, '--wait', 'forever', ...node("console.log('ran')")]);
    await until('it waits', async () => (await app.admin.inspect(key))?.waiting === 1);
    await waiting.kill('SIGUSR2');
    await waiting.kill(signal);
    expect(await waiting.ended()).toEqual({ code, signal: null, stdout: '', stderr: '' });
    expect((await app.admin.inspect(key))?.waiting).toBe(0);
    await held.release();
    await scene.nothingLeft();
  });

  it('exits with 127 for a missing command and 126 for one that does not start, and releases the lock', async () => {
    const app = await scene.app();
    const key = scene.key();
    const missing = await lock([key, '--', 'no-such-command-here']).ended();
    expect(missing).toMatchObject({
      code: 127,
      stdout: '',
      stderr: 'nestjs-distributed-lock: there is no command no-such-command-here\n',
    });
    const file = await folder.write('plain', 'no program');
    const plain = await lock([key, '--', file]).ended();
    expect(plain).toMatchObject({ code: 126, stdout: '' });
    expect(plain.stderr).toContain('EACCES');
    expect(await app.locks.isLocked(key)).toBe(false);
  });

  it('admits as many holders as the limit, and any number of readers', async () => {
    const app = await scene.app();
    const key = scene.key();
    const two = [1, 2].map(() => lock([key, '--limit', '2', ...node(UNTIL_ENDED)]));
    for (const one of two) await one.wrote(/pid/);
    expect(await lock([key, '--limit=2', '--wait=0', ...node('')]).ended()).toMatchObject({ code: 75 });
    const other = await lock([key, '--limit=3', '--wait=0', ...node('')]).ended();
    expect(other).toMatchObject({ code: 64 });
    expect(other.stderr).toContain('limit 3');
    for (const one of two) await one.kill('SIGTERM');
    for (const one of two) expect(await one.ended()).toMatchObject({ code: 143 });
    const readers = [1, 2].map(() => lock([key, '--shared', ...node(UNTIL_ENDED)]));
    for (const one of readers) await one.wrote(/pid/);
    expect(await app.admin.inspect(key)).toMatchObject({ mode: 'shared', limit: Infinity });
    for (const one of readers) await one.kill('SIGTERM');
    for (const one of readers) await one.ended();
  });

  it('keeps the lock after quick work with --hold-at-least, without waiting itself', async () => {
    const app = await scene.app();
    const key = scene.key();
    expect(await lock([key, '--hold-at-least', '10m', ...node('')]).ended()).toMatchObject({ code: 0 });
    expect((await app.admin.inspect(key))?.remaining).toBeGreaterThan(300_000);
    expect(await lock([key, '--wait=0', ...node('')]).ended()).toMatchObject({ code: 75 });
  });
});
