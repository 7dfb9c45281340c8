import { describe, expect, it } from '@jest/globals';
import { KeyNames } from '../../lib/stores/redis/scripts/key-names.js';
import { queuedIn } from '../support/lock-app.js';
import { next } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

const names = new KeyNames('lock:');

describe('a Redis whose data is deleted', () => {
  const scene = new RedisScene();

  /** What an operator deletes, and whether the hold is lost by that. */
  const acts: readonly [string, boolean, (key: string) => Promise<unknown>][] = [
    ['everything', true, () => scene.client.flushall()],
    ['the lock', true, (key) => scene.client.del(names.of(key).lock)],
    ['its queue', false, (key) => scene.client.del(names.of(key).queue)],
    ['its waiters', false, (key) => scene.client.del(names.of(key).waiters)],
    ['its lock and queue', true, (key) => scene.client.del(names.of(key).lock, names.of(key).queue)],
    ['its lock and waiters', true, (key) => scene.client.del(names.of(key).lock, names.of(key).waiters)],
    ['the last token', false, () => scene.client.del(names.fence(0))],
    [
      'all tombstones',
      false,
      async () => {
        const all = await scene.client.keys('*@:gone:*');
        if (all.length > 0) await scene.client.del(...all);
      },
    ],
  ];

  it.each(acts)(
    'F52: %s: holders are notified, waiters are served, and tokens grow',
    async (_, ends, act) => {
      const [holder, waiter, idle] = [
        await scene.app({ watchdogTimeout: 3_000 }),
        await scene.app(),
        await scene.app(),
      ];
      const key = scene.key();
      const held = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, { waitTime: 10_000 });
      await queuedIn(waiter, key);
      const lost = next(holder.locks.events, (event) => event.type === 'lost', 5_000);
      if (!ends) lost.catch(() => undefined);
      await act(key);
      if (ends) await lost;
      else expect(await held.release()).toBe('released');
      const served = await waiting;
      let last = held.token;
      expect(served.token).toBeGreaterThan(last);
      last = served.token;
      expect(await served.release()).toBe('released');
      for (const app of [idle, holder, waiter, idle]) {
        const handle = await app.locks.acquire(key, { waitTime: 2_000 });
        expect(handle.token).toBeGreaterThan(last);
        last = handle.token;
        expect(await handle.release()).toBe('released');
      }
    },
    30_000,
  );
});
