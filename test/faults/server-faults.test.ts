import { runInThisContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockUnavailableError } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { stopwatch } from '../support/stopwatch.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import { redisMajor } from '../support/redis-process.js';
import { RedisScene } from './redis-scene.js';

// Jest gives its tests a copy of `process` that real warnings never reach.
const realProcess = runInThisContext('process') as NodeJS.Process;

describe('faults of the server', () => {
  const scene = new RedisScene({
    settings: {
      'lua-time-limit': '50',
      ...(redisMajor() >= 7 && { 'enable-debug-command': 'yes' }),
    },
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

  it('P6, P22: a release whose script the server has lost is carried out before the next request, though that finds its own script', async () => {
    const [app, other] = await Promise.all([scene.app(), scene.app()]);
    const kinds = [{}, { label: 'labelled' }, { limit: 2, permits: 2 }];
    for (const kind of kinds) {
      const key = scene.key();
      const options = { ...kind, waitTime: 0 };
      // Loads both scripts.
      await app.locks.withLock(key, options, () => undefined);
      const held = await app.locks.acquire(key, options);
      await scene.client.script('FLUSH');
      // Another process loads the script that acquires.
      const elsewhere = await other.locks.acquire(scene.key(), options);
      const released = held.release();
      const next = await app.locks.tryAcquire(key, options);
      expect([kind, next?.isHeld]).toEqual([kind, true]);
      expect(await released).toBe('released');
      await Promise.all([next?.release(), elsewhere.release()]);
    }
    await scene.nothingLeft();
  });

  it('F61: a tracing agent that throws in sendCommand fails one call, and later calls are sent', async () => {
    const client = new Redis(scene.url);
    const app = await scene.app({ redis: client });
    await app.locks.withLock(scene.key(), () => undefined);
    const { sendCommand } = Redis.prototype;
    const failing = ['one', 'several'].map((many) => ({ many, keys: [scene.key(), scene.key()] }));
    for (const { many, keys } of failing) {
      const calls = many === 'one' ? keys.slice(0, 1) : keys;
      Redis.prototype.sendCommand = function () {
        throw new Error('of the agent');
      };
      const failed = calls.map((key) => rejectionOf(app.locks.acquire(key, { waitTime: 0, label: 'x' })));
      for (const error of await Promise.all(failed)) expect(error).toBeInstanceOf(LockUnavailableError);
      Redis.prototype.sendCommand = sendCommand;
      for (const key of keys) expect(await app.locks.withLock(key, () => 'value')).toBe('value');
    }
    client.disconnect();
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

  it('F8: any number of READONLY replies at once makes ioredis reconnect once, without a warning about listeners', async () => {
    const app = await scene.app();
    const warnings: string[] = [];
    const warned = ({ name, message }: Error): void => {
      if (name === 'MaxListenersExceededWarning') warnings.push(message);
    };
    realProcess.on('warning', warned);
    await scene.client.replicaof('127.0.0.1', '1');
    try {
      // Requests with a label do not travel together.
      const tries = Array.from({ length: 30 }, () =>
        rejectionOf(app.locks.acquire(scene.key(), { label: 'one of many', waitTime: 300 })),
      );
      for (const error of await Promise.all(tries)) expect(error).toBeInstanceOf(LockUnavailableError);
    } finally {
      await scene.client.replicaof('NO', 'ONE');
      realProcess.removeListener('warning', warned);
    }
    expect(warnings).toEqual([]);
    await app.locks.withLock(scene.key(), () => undefined);
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
