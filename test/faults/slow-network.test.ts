import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from '../../lib/index.js';
import { LockApp } from '../support/lock-app.js';
import { rejectionOf } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

/** There and back, ms; and a `waitTime` in which that many keys can't be asked for one after the other. */
const networks = [
  [10, 60],
  [40, 170],
] as const;

/**
 * What happens in the moment of the answer is tested in test/unit/slow-store.test.ts, where no busy machine has a say in
 * it. Here the least of several tries counts.
 */
const TRIES = 12;

describe('several keys over a slow network', () => {
  const scene = new RedisScene();

  const keysOf = (count: number): string[] => {
    const place = scene.key();
    return Array.from({ length: count }, (_, index) => `{${place}}-${String(index).padStart(3, '0')}`);
  };

  /** Whether one of several calls ends in time with a timeout about one of `names`, and leaves `free` to others. */
  const endsInTime = async (
    app: LockApp,
    other: LockApp,
    keys: readonly string[],
    waitTime: number,
    names: readonly string[],
  ): Promise<void> => {
    const seen: string[] = [];
    const free = names.length === 1 ? keys.filter((key) => key !== names[0]) : keys;
    for (let count = 0; count < TRIES; count++) {
      const start = performance.now();
      const error = await rejectionOf(app.locks.acquire(keys, { waitTime }));
      const late = performance.now() - start - waitTime;
      const all = await other.locks.tryAcquire(free);
      await all?.release();
      const key = error instanceof LockTimeoutError ? (error.keys[0] ?? '') : '';
      if (late <= 50 && all !== null && names.includes(key)) return;
      seen.push(`${late.toFixed()} ms late, others ${all === null ? 'taken' : 'free'}, ${String(error)}`);
    }
    throw new Error(`not once in time:\n${seen.join('\n')}`);
  };

  it.each(networks)(
    'B10, B11, B12: at %i ms the end of waitTime (%i ms) ends the call, names the held key and leaves the others free',
    async (delay, waitTime) => {
      const proxy = await scene.proxy();
      const [app, other] = [await scene.app({ redis: proxy.url }), await scene.app()];
      // So that neither the connections nor the scripts are new.
      await (await app.locks.acquire(keysOf(300))).release();
      proxy.delay(delay);
      const keys = keysOf(300);
      const held = await other.locks.acquire(keys.at(-1) ?? '');
      await endsInTime(app, other, keys, waitTime, keys.slice(-1));
      expect(held.isHeld).toBe(true);
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
        await endsInTime(app, other, keys, waitTime, keys);
      } finally {
        await app.close();
      }
      await scene.nothingLeft();
    },
  );
});
