import { describe, expect, it } from '@jest/globals';
import { LockClosedError, LockTimeoutError, type LockHandle } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { elapse, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

describe('unlucky moments', () => {
  const scene = new RedisScene();

  it('P14: connections that the server kills in the moment of a release cost a waiter at most one poll', async () => {
    const [holder, app] = [await scene.app(), await scene.app()];
    for (let round = 0; round < 12; round++) {
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 10_000 });
      await queuedIn(app, key);
      const kind = round % 2 ? 'pubsub' : 'normal';
      const killing = scene.client.call('CLIENT', 'KILL', 'TYPE', kind, 'SKIPME', 'yes');
      // Half of the rounds while the connections go, half when they have gone.
      if (round % 4 < 2) await killing;
      const released = handle.release();
      await killing;
      // One poll, and what a busy machine takes for new connections.
      const next = await within(2_000, 'the next holder', waiting);
      expect(next.token).toBeGreaterThan(handle.token);
      await released;
      await next.release();
    }
    await scene.nothingLeft();
  });

  it('B14, B60: an end in the middle of asks, pushes, releases and waits settles every call and leaves no lock', async () => {
    for (let round = 0; round < 15; round++) {
      const [app, other] = [await scene.app(), await scene.app()];
      const keys = Array.from({ length: 5 }, () => scene.key());
      const use = async (asking: Promise<LockHandle | null>): Promise<unknown> => {
        try {
          const handle = await asking;
          await elapse(round % 3);
          return await handle?.release();
        } catch (error) {
          return error;
        }
      };
      const calls = Array.from({ length: 40 }, (_, index) => {
        const { locks } = index % 4 === 0 ? other : app;
        const key = keys[index % keys.length] ?? '';
        return use(index % 3 === 0 ? locks.tryAcquire(key) : locks.acquire(key, { waitTime: 4_000 }));
      });
      await elapse(round);
      await app.close();
      const outcomes = await within(6_000, 'every call to settle', Promise.all(calls));
      for (const outcome of outcomes) {
        if (outcome instanceof Error) {
          expect([LockClosedError, LockTimeoutError]).toContain(outcome.constructor);
        }
      }
      expect(await scene.leftovers()).toEqual([]);
    }
  });

  it("P3, F31: tokens keep growing when the server's clock was set back", async () => {
    const app = await scene.app();
    const key = scene.key();
    const before = await app.locks.withLock(key, (lock) => lock.token);
    // As if that lock had been taken by a clock that was an hour ahead.
    const ahead = before + 3_600_000_000;
    await scene.client.set('lock:@:fence', String(ahead));
    for (let expected = ahead + 1; expected <= ahead + 3; expected++) {
      expect(await app.locks.withLock(key, (lock) => lock.token)).toBe(expected);
    }
  });
});
