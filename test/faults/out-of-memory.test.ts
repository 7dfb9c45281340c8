import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError, type LockHandle, type LockOptions } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { next, rejectionOf, until, within } from '../support/until.js';
import { VirtualTime } from '../support/virtual-time.js';
import { about, RedisScene } from './redis-scene.js';

/** Ways to acquire a lock that run different scripts. */
const ways: readonly LockOptions[] = [
  {},
  { label: 'report' },
  { fair: true },
  { leaseTime: 5_000 },
  { mode: 'shared' },
  { limit: 3 },
];

describe('F6: a Redis that is out of memory', () => {
  const scene = new RedisScene({ clock: true });

  /** The outcome of an acquire, as text. */
  const outcome = (asking: Promise<LockHandle | null>): Promise<string> =>
    asking.then(
      (handle) => (handle === null ? 'held' : 'granted'),
      (error: unknown) =>
        error instanceof LockUnavailableError &&
        [error.message, error.cause].every((why) => String(why).includes('OOM'))
          ? 'refused'
          : String(error),
    );

  it.each(ways)('rejects every request for a free lock: %j', async (options) => {
    const app = await scene.app();
    await scene.outOfMemory(async () => {
      const waits = Array.from({ length: 5 }, () =>
        outcome(app.locks.tryAcquire(scene.key(), { ...options, waitTime: 500 })),
      );
      expect(await Promise.all(waits)).toEqual(waits.map(() => 'refused'));
      for (let round = 0; round < 5; round++) {
        expect(await outcome(app.locks.tryAcquire(scene.key(), options))).toBe('refused');
        const keys = [scene.key(), scene.key()];
        expect(await outcome(app.locks.tryAcquire(keys, options))).toBe('refused');
      }
    });
    expect(await scene.leftovers()).toEqual([]);
  });

  it.each(ways.slice(4))(
    'also rejects it where the permit of a dead process blocks the request: %j',
    async (options) => {
      const [proxy, key] = [await scene.proxy(), scene.key()];
      const [dead, living, app] = [
        await scene.app({ redis: proxy.url }),
        await scene.app(),
        await scene.app(),
      ];
      await living.locks.acquire(key, options);
      await dead.locks.acquire(key, { ...options, leaseTime: 200 });
      await proxy.refuse();
      proxy.cut();
      const due = Number(await scene.client.hget(`lock:${key}`, 'due'));
      await until(
        'its lease has expired',
        async () => Number((await scene.client.time())[0]) * 1_000 > due + 1_000,
      );
      await scene.outOfMemory(async () => {
        expect(await outcome(app.locks.tryAcquire(key, options))).toBe('refused');
        expect(await outcome(app.locks.tryAcquire(key, { ...options, label: 'report' }))).toBe('refused');
        expect((await app.admin.inspect(key))?.holders).toHaveLength(1);
      });
      expect(await outcome(app.locks.tryAcquire(key, options))).toBe('granted');
    },
  );

  it.each(ways)('renews, extends, releases and inspects a held lock: %j', async (options) => {
    const app = await scene.app({ watchdogTimeout: 6_000 });
    const [watched, other] = [scene.key(), scene.key()];
    const handles = [await app.locks.acquire(watched, options), await app.locks.acquire(other, options)];
    await scene.outOfMemory(async () => {
      if (options.leaseTime === undefined) {
        await next(app.locks.events, (event) => event.type === 'renewed' && event.key === watched);
      }
      for (const handle of handles) await handle.extend(20_000);
      expect(handles.map(({ remaining }) => remaining > 10_000)).toEqual([true, true]);
      expect(await app.locks.isLocked(watched)).toBe(true);
      expect(app.events('renewal-failed')).toEqual([]);
      expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(['released', 'released']);
    });
    await scene.nothingLeft();
  });

  it('passes a lock on to a caller that already waited', async () => {
    const [holder, waiter] = [await scene.app(), await scene.app()];
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, { waitTime: 10_000 });
    await queuedIn(waiter, key);
    await scene.outOfMemory(async () => {
      expect(await held.release()).toBe('released');
      const handle = await within(2_000, 'the lock', waiting);
      expect(handle.token).toBeGreaterThan(held.token);
      expect(await handle.release()).toBe('released');
    });
    await scene.nothingLeft();
  });

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

  it('withdraws a ticket that was in doubt', async () => {
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

  it('B16: the token counter is not written for a caller that gets no permit', async () => {
    const [holder, app] = [await scene.app(), await scene.app()];
    const [readers, full] = [scene.key(), scene.key()];
    await holder.locks.acquire(readers);
    for (let permit = 0; permit < 2; permit++) await holder.locks.acquire(full, { limit: 2 });
    const before = await scene.client.get('lock:@:fence');
    expect(before).not.toBeNull();
    expect(await app.locks.tryAcquire(readers, { mode: 'shared' })).toBeNull();
    expect(await app.locks.tryAcquire(full, { limit: 2 })).toBeNull();
    expect(await app.locks.tryAcquire([full, readers], { mode: 'shared' }).catch(() => null)).toBeNull();
    expect(await scene.client.get('lock:@:fence')).toBe(before);
  });

  it('hands a lock over to waiters of the same process', async () => {
    // A lock passes inside the process for 50 ms, which must not end because the machine is busy.
    const stopTime = await VirtualTime.start([scene.server]);
    try {
      const [app, key] = [await scene.app(), scene.key()];
      const first = await app.locks.acquire(key);
      const waiting = [1, 2, 3].map(() => app.locks.acquire(key, { waitTime: 10_000 }));
      await scene.outOfMemory(async () => {
        await first.release();
        for (const next of waiting) await (await within(5_000, 'the lock', next)).release();
      });
      await scene.nothingLeft();
      await app.close();
    } finally {
      stopTime();
    }
  });
});
