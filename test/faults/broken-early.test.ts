import { describe, expect, it } from '@jest/globals';
import type { LockHandle, LockOptions } from '../../lib/index.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { next, until } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

describe.each([0, 40])(
  'a lock that is force-released before the reply to its acquire arrives, %d ms away',
  (delay) => {
    const scene = new RedisScene({ delay, inVirtualTime: true });

    /** Opens the subscription for grants, as a first wait does. */
    async function open(far: LockApp, near: LockApp): Promise<void> {
      const key = scene.key();
      const held = await near.locks.acquire(key);
      const waiting = far.locks.acquire(key, { waitTime: 20_000 });
      await queuedIn(far, key);
      await held.release();
      await (await waiting).release();
    }

    it.each<[string, LockOptions, number]>([
      ['a single try', { waitTime: 0 }, 1],
      ['a single try of a reader', { waitTime: 0, mode: 'shared' }, 1],
      ['a single try for a permit', { waitTime: 0, limit: 2 }, 1],
      ['one try of a call with retry', { retry: {} }, 1],
      ['a call that waits', {}, 1],
      ['a reader that waits', { mode: 'shared' }, 1],
      ['several locks', {}, 3],
      ['a single try for several locks', { waitTime: 0 }, 3],
      ['several locks with retry', { retry: {} }, 3],
    ])('B23: %s gets no hold that Redis no longer has', async (_, options, size) => {
      const proxy = await scene.proxy();
      const [far, near] = [await scene.app({ redis: proxy.url }), await scene.app()];
      await open(far, near);
      const keys = Array.from({ length: size }, () => scene.key()).sort();
      const broken = keys.at(-1) ?? '';
      const marker = scene.key();
      await far.locks.acquire(marker, { leaseTime: 60_000 });
      // Load the scripts.
      await far.locks.withLock(keys, options, () => undefined);

      const deliver = proxy.hold('replies', (connection) => !connection.subscribes);
      const asking: Promise<LockHandle> = far.locks.acquire(keys, options);
      await until('Redis has granted it', () => scene.client.exists(`lock:${broken}`));
      expect(await near.admin.forceRelease(broken)).toBe(true);
      // Messages arrive in order: the one under test was read before this one.
      const read = next(far.locks.events, (event) => event.type === 'lost' && event.key === marker);
      await near.admin.forceRelease(marker);
      await read;
      deliver();

      const handle = await asking;
      const stored = await near.admin.inspect(broken);
      expect(stored?.token).toBe(handle.tokens.get(broken) ?? 0);
      expect(handle.isHeld).toBe(true);
      await handle.release();
      await scene.nothingLeft();
    });
  },
);
