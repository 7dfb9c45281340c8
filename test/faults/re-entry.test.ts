import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../lib/index.js';
import { bestLateness } from '../support/lateness.js';
import { elapse, rejectionOf } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

/** Longer than the remaining lease, so that the store must extend it. */
const longer = { leaseTime: 120_000 };

describe.each([0, 40])('B54: re-entry with a longer leaseTime, %d ms away', (delay) => {
  const scene = new RedisScene({ delay, inVirtualTime: true });

  it('is retried until waitTime: it succeeds when the connection comes back in time', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    const key = scene.key();
    await app.locks.withLock(key, async (outer) => {
      await proxy.refuse();
      proxy.cut();
      const back = elapse(30).then(() => proxy.accept());
      const inner = await app.locks.acquire(key, { ...longer, waitTime: 10_000 });
      await back;
      expect(inner.token).toBe(outer.token);
      expect(outer.remaining).toBeGreaterThan(100_000);
      await inner.release();
      expect(outer.isHeld).toBe(true);
    });
    await scene.nothingLeft();
  });

  it('B10, B11: fails at the end of waitTime while the store is unreachable, and leaves the outer hold unchanged', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    const key = scene.key();
    await app.locks.withLock(key, async (outer) => {
      await proxy.refuse();
      proxy.cut();
      const lateness = await bestLateness(
        300,
        () => scene.client.ping(),
        async () => {
          const error = await rejectionOf(app.locks.acquire(key, { ...longer, waitTime: 300 }));
          expect(error).toBeInstanceOf(LockUnavailableError);
        },
      );
      expect(lateness).toBeLessThanOrEqual(50);
      expect(outer.isHeld).toBe(true);
      // The failed call left no re-entry behind.
      await (await app.locks.acquire(key, { waitTime: 0 })).release();
      await proxy.accept();
    });
    await scene.nothingLeft();
  });

  it('fails at once with waitTime 0, and ends with its signal', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    const key = scene.key();
    await app.locks.withLock(key, async () => {
      await proxy.refuse();
      proxy.cut();
      expect(await rejectionOf(app.locks.acquire(key, { ...longer, waitTime: 0 }))).toBeInstanceOf(
        LockUnavailableError,
      );
      const abort = new AbortController();
      const waiting = rejectionOf(
        app.locks.acquire(key, { ...longer, waitTime: Infinity, signal: abort.signal }),
      );
      abort.abort('enough');
      expect(await waiting).toBe('enough');
      await proxy.accept();
    });
    await scene.nothingLeft();
  });

  it('F7: acquires a lost lock again', async () => {
    const app = await scene.app();
    const key = scene.key();
    await app.locks.withLock(key, async (outer) => {
      await scene.client.del(`lock:${key}`);
      const inner = await app.locks.acquire(key, longer);
      expect(inner.isHeld).toBe(true);
      expect(inner.token).toBeGreaterThan(outer.token);
      expect(outer.isHeld).toBe(false);
      expect(await inner.release()).toBe('released');
    });
    await scene.nothingLeft();
  });
});
