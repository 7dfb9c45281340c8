import { describe, expect, it } from '@jest/globals';
import { RedisScene } from '../../faults/redis-scene.js';
import type { CommandLine } from '../../support/command-line.js';
import { TestFolder } from '../../support/test-folder.js';
import { until } from '../../support/until.js';
import { lockIn, node, shell, SIGNALS } from './command-under-lock.js';

describe('O26: nestjs-distributed-lock lock, when something crashes or stalls', () => {
  const scene = new RedisScene();
  const folder = new TestFolder();
  /** A configuration file with a short lease, which a busy machine can still renew. */
  const shortLease = async (): Promise<string[]> => {
    const options = JSON.stringify({ redis: scene.url, watchdogTimeout: 5_000 });
    return ['--config', await folder.write('short.mjs', `export default ${options};`)];
  };

  const lock = (args: readonly string[]): CommandLine => lockIn(scene, args);

  it('sends TERM to the command when the lock is lost, and exits with 74', async () => {
    const app = await scene.app();
    const key = scene.key();
    const running = lock([key, ...(await shortLease()), ...node(SIGNALS)]);
    await running.wrote(/ready/);
    expect(await app.admin.forceRelease(key)).toBe(true);
    const ended = await running.ended();
    expect(ended).toMatchObject({ code: 74, stdout: 'ready\nSIGTERM\n' });
    expect(ended.stderr).toContain('the lock is lost, so the command receives SIGTERM');
    expect(ended.stderr).toContain(
      `The lock "${key}" was lost before the command had ended, with exit code 3.`,
    );
  });

  it('kills a command that does not end after its lock is lost', async () => {
    const app = await scene.app();
    const key = scene.key();
    const deaf =
      "process.on('SIGTERM', () => console.log('heard')); console.log('ready'); setTimeout(() => process.exit(99), 120_000);";
    const running = lock([key, ...(await shortLease()), '--kill-after', '3s', ...node(deaf)]);
    await running.wrote(/ready/);
    await app.admin.forceRelease(key);
    const ended = await running.ended();
    expect(ended).toMatchObject({ code: 74, stdout: 'ready\nheard\n' });
    expect(ended.stderr).toContain('it is killed (KILL)');
    expect(ended.stderr).toContain('with exit code 137');
  });

  describe('F75: a shell and its child', () => {
    it('receive TERM when the lock is lost', async () => {
      const app = await scene.app();
      const key = scene.key();
      const running = lock([key, ...(await shortLease()), ...shell('process.exit(0)')]);
      await running.wrote(/child pid/);
      await app.admin.forceRelease(key);
      const ended = await running.ended();
      expect(ended).toMatchObject({ code: 74 });
      expect(ended.stdout).toContain('child heard TERM');
      expect(ended.stdout).not.toContain('next');
    });

    it('are killed if they do not end', async () => {
      const app = await scene.app();
      const key = scene.key();
      const running = lock([key, ...(await shortLease()), '--kill-after', '1s', ...shell('')]);
      await running.wrote(/child pid/);
      await app.admin.forceRelease(key);
      // Resolves when no process has its output any more.
      expect(await running.ended()).toMatchObject({ code: 74 });
    });

    it('keep the lock after TERM until both have ended', async () => {
      const app = await scene.app();
      const key = scene.key();
      const onceAsked = "process.once('SIGHUP', () => process.exit(0))";
      const running = lock([key, ...shell(onceAsked)]);
      const [, pid = ''] = await running.wrote(/child pid (\d+)/);
      await running.kill('SIGTERM');
      await running.wrote(/child heard TERM/);
      await until('left', () => /processes that it started have not \(\d+\)/.test(running.stderr));
      expect(await app.locks.tryAcquire(key)).toBeNull();
      process.kill(Number(pid), 'SIGHUP');
      expect(await running.ended()).toMatchObject({ code: 143 });
      expect(await app.locks.isLocked(key)).toBe(false);
    });

    it('keep the lock if only the child is left', async () => {
      const app = await scene.app();
      const key = scene.key();
      const child =
        "console.log('child pid', process.pid, '.'); setTimeout(() => process.exit(99), 120_000);";
      const running = lock([key, '--', 'sh', '-c', '"$0" -e "$1" & exit 5', process.execPath, child]);
      const [, pid = ''] = await running.wrote(/child pid (\d+)/);
      await until('left', () => running.stderr.includes(`processes that it started have not (${pid})`));
      expect(await app.locks.tryAcquire(key)).toBeNull();
      process.kill(Number(pid), 'SIGKILL');
      expect(await running.ended()).toMatchObject({ code: 5 });
      expect(await app.locks.isLocked(key)).toBe(false);
    });
  });

  it('kill -9 of itself: the command continues, the lock expires, and the next hold has a larger token', async () => {
    const app = await scene.app();
    const key = scene.key();
    const script = `console.log('token', process.env.LOCK_TOKEN, 'pid', process.pid, '.'); setTimeout(() => process.exit(99), 120_000);`;
    const running = lock([key, ...(await shortLease()), ...node(script)]);
    const [, token, pid] = await running.wrote(/token (\d+) pid (\d+) \./);
    try {
      await running.kill();
      expect(await running.exited()).toMatchObject({ code: null, signal: 'SIGKILL' });
      expect(await app.locks.isLocked(key)).toBe(true);
      const next = await app.locks.acquire(key, { waitTime: 30_000 });
      expect(next.token).toBeGreaterThan(Number(token));
      // Its writes can be rejected by their token.
      expect(() => process.kill(Number(pid), 0)).not.toThrow();
    } finally {
      process.kill(Number(pid), 'SIGKILL');
    }
  });

  it('reports a lock that was lost while all of its processes were stopped, although the command succeeded', async () => {
    const app = await scene.app();
    const key = scene.key();
    const script = `console.log('pid', process.pid, '.'); process.on('SIGUSR1', () => process.exit(0)); setTimeout(() => process.exit(99), 120_000);`;
    const running = lock([key, ...(await shortLease()), '--kill-after=1m', ...node(script)]);
    const [, pid] = await running.wrote(/pid (\d+) \./);
    process.kill(running.pid, 'SIGSTOP');
    const next = await app.locks.acquire(key, { waitTime: 30_000 });
    process.kill(Number(pid), 'SIGUSR1');
    process.kill(running.pid, 'SIGCONT');
    expect(await running.ended()).toMatchObject({ code: 74 });
    expect(next.isHeld).toBe(true);
  });
});
