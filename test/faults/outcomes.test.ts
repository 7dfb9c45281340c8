import { describe, expect, it } from '@jest/globals';
import { LockOptionsError, LockTimeoutError, LockUnavailableError } from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { queuedIn } from '../support/lock-app.js';
import { rejectionOf, until, within } from '../support/until.js';
import { about, RedisScene } from './redis-scene.js';

describe.each([0, 40])('outcomes of calls, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('B11: a server that is stopped for the whole wait is unavailable, even if it reported a held lock before', async () => {
    const proxy = await scene.proxy();
    const [app, holder] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const key = scene.key();
    await holder.locks.acquire(key);
    const stop = new AbortController();
    const first = rejectionOf(app.locks.acquire(key, { waitTime: Infinity, signal: stop.signal }));
    await queuedIn(app, key);
    const polled = proxy.request(about(key));
    scene.server.stop();
    try {
      await polled;
      const waiting = rejectionOf(app.locks.acquire(key, { waitTime: 400 }));
      expect(await within(1_000, 'the wait', waiting)).toBeInstanceOf(LockUnavailableError);
      expect(await rejectionOf(app.locks.tryAcquire(key))).toBeInstanceOf(LockUnavailableError);
    } finally {
      scene.server.resume();
    }
    stop.abort();
    await first;
    // Once it replies, it is a held lock again.
    await until('the store replies again', () => app.locks.isLocked(key).catch(() => false));
    expect(await rejectionOf(app.locks.acquire(key, { waitTime: 500 }))).toBeInstanceOf(LockTimeoutError);
  });

  it('B54, F7: re-entry with a longer lease acquires a lost lock again', async () => {
    const app = await scene.app();
    const key = scene.key();
    await app.locks.withLock(key, async (outer) => {
      await scene.client.del(`lock:${key}`);
      const inner = await app.locks.acquire(key, { leaseTime: 60_000 });
      expect(inner.isHeld).toBe(true);
      expect(inner.token).toBeGreaterThan(outer.token);
      expect(outer.isHeld).toBe(false);
      expect(await inner.release()).toBe('released');
    });
    await scene.nothingLeft();
  });

  it('B1: a malformed URL is rejected without showing its password', () => {
    const url = 'redis://:s3cret%zz@127.0.0.1:1';
    const open = (): unknown => new RedisLockStore(url, 'lock:');
    expect(open).toThrow(LockOptionsError);
    expect(open).not.toThrow(/s3cret/);
  });
});

describe.each([0, 10])('F6: a server that is out of memory, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('releases a lock whose grant was in doubt', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    const key = scene.key();
    const lost = proxy.loseReply(about(key));
    const handle = await within(4_000, 'the lock', app.locks.acquire(key));
    await lost;
    await scene.outOfMemory(async () => {
      await handle.release();
      await until('the lock is free', async () => (await scene.client.exists(`lock:${key}`)) === 0, {
        deadline: 2_000,
      });
    });
    await scene.nothingLeft();
  });

  it('removes a queue entry that was in doubt', async () => {
    const proxy = await scene.proxy();
    const [app, holder] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    const lost = proxy.loseReply(about(key));
    const stop = new AbortController();
    const waiting = rejectionOf(app.locks.acquire(key, { signal: stop.signal, waitTime: 15_000 }));
    await lost;
    await queuedIn(app, key);
    await scene.outOfMemory(async () => {
      stop.abort();
      await waiting;
      // Silent waiters are forgotten only after three polls.
      await until('no caller waits', async () => (await holder.admin.inspect(key))?.waiting === 0, {
        deadline: 2_000,
      });
      await handle.release();
      expect(await scene.leftovers()).toEqual([]);
    });
  });
});
