import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../lib/index.js';
import { bestLateness } from '../support/lateness.js';
import { elapse, rejectionOf } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

/** Longer than what is left, so that the store has to be asked. */
const longer = { leaseTime: 120_000 };

describe.each([0, 40])('B54: re-entry with a longer leaseTime, %d ms away', (delay) => {
  const scene = new RedisScene({ delay, inVirtualTime: true });

  it('is tried until waitTime: a connection that is back in a moment is enough', async () => {
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

  it('B10, B11: ends with waitTime where the store can’t be asked, and leaves the hold around it as it is', async () => {
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
      // Whoever failed is not inside any more.
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
});
