import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from '../../lib/index.js';
import { LockApp } from '../support/lock-app.js';
import { bestLateness } from '../support/lateness.js';
import { rejectionOf } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

describe('several keys over a slow network', () => {
  const scene = new RedisScene();

  const keysOf = (count: number): string[] => {
    const place = scene.key();
    return Array.from({ length: count }, (_, index) => `{${place}}-${String(index).padStart(3, '0')}`);
  };

  /** There and back, ms; and a `waitTime` in which all of so many keys can't be asked for one after the other. */
  const networks = [
    [10, 50],
    [40, 170],
  ] as const;

  it.each(networks)(
    'B10, B11, B12: at %i ms the end of waitTime (%i ms) ends the call, names the held key and leaves the others free',
    async (delay, waitTime) => {
      const proxy = await scene.proxy();
      const [app, other] = [await scene.app({ redis: proxy.url }), await scene.app()];
      // So that neither the connections nor the scripts are new.
      await (await app.locks.acquire(keysOf(300))).release();
      proxy.delay(delay);
      const keys = keysOf(300);
      const [last = '', free] = [keys.at(-1), keys.slice(0, -1)];
      const held = await other.locks.acquire(last);
      const lateness = await bestLateness(
        waitTime,
        () => scene.client.ping(),
        async () => {
          const error = await rejectionOf(app.locks.acquire(keys, { waitTime }));
          const others = other.locks.tryAcquire(free);
          expect(error).toBeInstanceOf(LockTimeoutError);
          expect(error).toMatchObject({ keys: [last] });
          void (await others)?.release();
          expect(await others).not.toBeNull();
        },
      );
      expect(lateness).toBeLessThanOrEqual(50);
      await held.release();
      await scene.nothingLeft();
    },
  );

  it.each(networks)(
    'B10, B11, B12: at %i ms keys that are all free, but take longer to ask for than waitTime (%i ms), are a timeout',
    async (delay, waitTime) => {
      const proxy = await scene.proxy();
      // A quorum has no way to take several at once, not even one of a single member.
      const app = await LockApp.start({ quorum: [proxy.url], shutdownTimeout: 50 });
      const other = await scene.app();
      try {
        await (await app.locks.acquire(keysOf(2))).release();
        proxy.delay(delay);
        const keys = keysOf(300);
        const lateness = await bestLateness(
          waitTime,
          () => scene.client.ping(),
          async () => {
            const error = await rejectionOf(app.locks.acquire(keys, { waitTime }));
            const all = other.locks.tryAcquire(keys);
            expect(error).toBeInstanceOf(LockTimeoutError);
            expect((error as Error).message).toMatch(
              /could not be taken in time: it is one of 300 keys, and asking for them took the whole waitTime/,
            );
            void (await all)?.release();
            expect(await all).not.toBeNull();
          },
        );
        expect(lateness).toBeLessThanOrEqual(50);
        expect(app.events('unavailable')).toEqual([]);
      } finally {
        await app.close();
      }
      await scene.nothingLeft();
    },
  );
});
