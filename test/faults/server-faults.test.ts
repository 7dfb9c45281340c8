import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockUnavailableError } from '../../lib/index.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { queuedIn } from '../support/lock-app.js';
import { latenessOfAbort } from '../support/lateness.js';
import { stopwatch } from '../support/stopwatch.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import { redisMajor } from '../support/redis-process.js';
import { RedisScene } from './redis-scene.js';

describe('faults of the server', () => {
  const scene = new RedisScene({
    settings: {
      'lua-time-limit': '50',
      ...(redisMajor() >= 7 && { 'enable-debug-command': 'yes' }),
    },
  });

  it('F1: a restart without persistence is reported to the holder within a renewal; the next token is larger', async () => {
    const watchdogTimeout = 6_000;
    const [app, other] = [await scene.app({ watchdogTimeout }), await scene.app({ watchdogTimeout })];
    const key = scene.key();
    const handle = await app.locks.acquire(key);
    const lost = next(app.locks.events, (event) => event.type === 'lost' && event.key === key);
    await scene.server.restart();
    const took = stopwatch();
    await lost;
    // Renewal interval 2 s, command timeout 1 s, and the reconnect; its own deadline is 6 s away.
    expect(took()).toBeLessThan(4_500);
    expect(handle.isHeld).toBe(false);
    expect(handle.signal.reason).toBeInstanceOf(LockLostError);
    const second = await other.locks.acquire(key);
    expect(second.token).toBeGreaterThan(handle.token);
    expect(await handle.release()).toBe('expired');
    expect(await second.release()).toBe('released');
    await scene.nothingLeft();
  });

  it('F2: with a stopped server the hold is lost at its deadline, by the local clock alone', async () => {
    const app = await scene.app({ watchdogTimeout: 1_200 });
    const handle = await app.locks.acquire(scene.key());
    scene.server.stop();
    try {
      const { early, late } = await latenessOfAbort(handle);
      expect(early).toBeLessThanOrEqual(20);
      expect(late).toBeLessThanOrEqual(50);
      expect(handle.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'unreachable' });
      expect(() => handle.assertHeld()).toThrow(LockLostError);
    } finally {
      scene.server.resume();
    }
    await handle.release();
    await scene.nothingLeft();
  });

  it('F4: SCRIPT FLUSH during traffic is not noticed', async () => {
    const apps = [await scene.app(), await scene.app()];
    const key = scene.key();
    const witness = new ExclusionWitness();
    let executed = 0;
    let going = true;
    const flush = async (): Promise<void> => {
      while (going) await scene.client.script('FLUSH');
    };
    const work = async (locks: (typeof apps)[number]['locks']): Promise<void> => {
      for (let round = 0; round < 50; round++) {
        await locks.withLock(key, { waitTime: 15_000 }, async () => {
          witness.enter();
          executed += 1;
          await Promise.resolve();
          witness.leave();
        });
      }
    };
    const flushing = flush();
    await Promise.all(apps.flatMap(({ locks }) => [work(locks), work(locks)]));
    going = false;
    await flushing;
    expect(executed).toBe(200);
    expect(witness.most).toBe(1);
    expect(apps.flatMap((app) => app.events('unavailable'))).toEqual([]);
    await scene.nothingLeft();
  });

  it('P22: the first release on a server without its script is carried out before the next request, too', async () => {
    const app = await scene.app();
    const key = scene.key();
    for (let round = 0; round < 3; round++) {
      await scene.client.script('FLUSH');
      const later = await scene.app();
      // The script that acquires locks is loaded by now.
      const other = await later.locks.acquire(scene.key());
      expect(await later.locks.withLock(key, () => 'value')).toBe('value');
      const next = await later.locks.tryAcquire(key);
      expect(next?.isHeld).toBe(true);
      await Promise.all([other.release(), next?.release()]);
    }
    expect(await app.locks.withLock(key, () => 'value')).toBe('value');
    await scene.nothingLeft();
  });

  for (const [what, destroy] of [
    ['FLUSHALL', () => scene.client.flushall()],
    ['DEL', async (key: string) => expect(await scene.client.del(`lock:${key}`)).toBe(1)],
  ] as const) {
    it(`F7: ${what} of a held lock is reported within a renewal interval and by release; waiters are served`, async () => {
      const [holder, waiter] = [await scene.app({ watchdogTimeout: 6_000 }), await scene.app()];
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(waiter, key);
      const start = performance.now();
      const took = stopwatch();
      await destroy(key);
      const second = await waiting;
      expect(took()).toBeLessThan(2_000);
      expect(second.token).toBeGreaterThan(handle.token);
      await until('the loss is known', () => handle.signal.aborted);
      expect(performance.now() - start).toBeLessThan(3_800);
      expect(await handle.release()).toBe('expired');
      expect(second.isHeld).toBe(true);
      expect(await second.release()).toBe('released');
      await scene.nothingLeft();
    });
  }

  it('F8: BUSY is retried until waitTime', async () => {
    const app = await scene.app();
    const key = scene.key();
    const spinner = scene.server.client();
    const spinning = spinner.eval('while true do end', 0).catch((error: unknown) => error);
    await until('the server is busy', async () =>
      isError(await scene.client.get('x').catch(asError), 'BUSY'),
    );
    const error = await rejectionOf(app.locks.acquire(key, { waitTime: 250 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    const waiting = app.locks.acquire(key, { waitTime: 10_000 });
    await elapse(300);
    await scene.client.script('KILL');
    await spinning;
    await (await within(3_000, 'the lock', waiting)).release();
    await scene.nothingLeft();
  });

  it('F8: READONLY is retried until waitTime', async () => {
    const app = await scene.app();
    const key = scene.key();
    await scene.client.replicaof('127.0.0.1', '1');
    try {
      const error = await rejectionOf(app.locks.acquire(key, { waitTime: 600 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(String((error as LockUnavailableError).cause)).toContain('READONLY');
      const waiting = app.locks.acquire(key, { waitTime: 10_000 });
      await elapse(200);
      await scene.client.replicaof('NO', 'ONE');
      await (await within(3_000, 'the lock', waiting)).release();
    } finally {
      await scene.client.replicaof('NO', 'ONE');
    }
    await scene.nothingLeft();
  });

  it('B22: a renewal that the server rejects for a while is retried on the same connection', async () => {
    const app = await scene.app({ watchdogTimeout: 3_000 });
    const handle = await app.locks.acquire(scene.key());
    const failed = next(app.locks.events, (event) => event.type === 'renewal-failed');
    await scene.client.replicaof('127.0.0.1', '1');
    try {
      await failed;
    } finally {
      await scene.client.replicaof('NO', 'ONE');
    }
    await next(app.locks.events, (event) => event.type === 'renewed');
    // Longer than the lease: it is renewed again and again.
    await elapse(3_500);
    expect(handle.isHeld).toBe(true);
    expect(await handle.release()).toBe('released');
    await scene.nothingLeft();
  });

  // Redis before 7 can't be made to load slowly while it runs.
  const itFrom7 = redisMajor() >= 7 ? it : it.skip;

  itFrom7('F8: LOADING is retried until waitTime', async () => {
    const app = await scene.app();
    const key = scene.key();
    const loader = scene.server.client();
    const entries = Array.from({ length: 2_000 }, (_, index) => [`filler-${index}`, 'x'.repeat(100)]);
    await loader.mset(...entries.flat());
    await loader.config('SET', 'key-load-delay', '1500');
    await loader.config('SET', 'loading-process-events-interval-bytes', '1024');
    const reloading = loader.call('DEBUG', 'RELOAD');
    await until('the server is loading', async () =>
      isError(await scene.client.get('x').catch(asError), 'LOADING'),
    );
    const error = await rejectionOf(app.locks.acquire(key, { waitTime: 600 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String((error as LockUnavailableError).cause)).toContain('LOADING');
    const handle = await app.locks.acquire(key, { waitTime: 15_000 });
    await reloading;
    await handle.release();
    await loader.config('SET', 'key-load-delay', '0');
  });
});

function asError(error: unknown): unknown {
  return error;
}

function isError(value: unknown, start: string): boolean {
  return value instanceof Error && value.message.startsWith(start);
}
