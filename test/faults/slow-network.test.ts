import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from '../../lib/index.js';
import type { LockApp } from '../support/lock-app.js';
import { elapse } from '../support/until.js';
import { VirtualTime } from '../support/virtual-time.js';
import { RedisScene } from './redis-scene.js';

/** Round trip, ms; and a `waitTime` too short to acquire that many keys one after the other. */
const networks = [
  [10, 60],
  [40, 170],
] as const;

/** How long a call may last after `waitTime`, ms (B10). */
const LATE = 50;
/** How long after `waitTime` the first reply may arrive, ms. */
const GRACE = 30;

/** Too many to acquire one after the other. */
const COUNT = 40;

/** Calls in a row, each of which must have the expected outcome. */
const CALLS = 5;

interface Outcome {
  readonly isTimeout: boolean;
  readonly key: string | undefined;
  readonly isLate: boolean;
  /** Whether another process got the free keys one round trip after the call ended. */
  readonly areOthersFree: boolean;
}

/** A real server behind a slow network, in virtual time. */
describe('several keys over a slow network', () => {
  const scene = new RedisScene({ clock: true });
  let stopTime: (() => void) | undefined;
  beforeEach(async () => {
    stopTime = await VirtualTime.start([scene.server]);
  });
  afterEach(() => stopTime?.());

  const keysOf = (count: number): string[] => {
    const slot = scene.key();
    return Array.from({ length: count }, (_, index) => `{${slot}}-${String(index).padStart(3, '0')}`);
  };

  const outcomeOf = async (
    app: LockApp,
    other: LockApp,
    keys: readonly string[],
    free: readonly string[],
    waitTime: number,
    delay: number,
  ): Promise<Outcome> => {
    const start = performance.now();
    const error: unknown = await app.locks.acquire(keys, { waitTime }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const isLate = performance.now() - start > waitTime + LATE;
    // The releases were sent before the call ended.
    await elapse(delay);
    const all = await other.locks.tryAcquire(free);
    await all?.release();
    const isTimeout = error instanceof LockTimeoutError;
    return { isTimeout, key: isTimeout ? error.keys[0] : String(error), isLate, areOthersFree: all !== null };
  };

  it.each(networks)(
    'B10, B11, B12: at %i ms the end of waitTime (%i ms) ends the call, names the held key and leaves the others free',
    async (delay, waitTime) => {
      const proxy = await scene.proxy();
      const [app, other] = [await scene.app({ redis: proxy.url }), await scene.app()];
      // Neither the connections nor the scripts are new.
      await (await app.locks.acquire(keysOf(COUNT))).release();
      proxy.delay(delay);
      const keys = keysOf(COUNT);
      const [key = ''] = keys.slice(-1);
      const held = await other.locks.acquire(key);
      for (let call = 0; call < CALLS; call++) {
        const outcome = await outcomeOf(app, other, keys, keys.slice(0, -1), waitTime, delay);
        expect(outcome).toEqual({ isTimeout: true, key, isLate: false, areOthersFree: true });
        await elapse(3 * delay);
      }
      expect(held.isHeld).toBe(true);
      await held.release();
      await scene.nothingLeft();
    },
  );

  it.each([1, 20, 39])(
    'B11: a store that reported key %i as held counts as reachable, however short waitTime is',
    async (index) => {
      const delay = 40;
      const proxy = await scene.proxy();
      const [app, other] = [await scene.app({ redis: proxy.url }), await scene.app()];
      await (await app.locks.acquire(keysOf(COUNT))).release();
      proxy.delay(delay);
      const keys = keysOf(COUNT);
      const key = keys[index] ?? '';
      const held = await other.locks.acquire(key);
      const free = keys.filter((each) => each !== key);
      // While the first reply is on its way, when it has arrived, and in the middle of the following requests.
      for (const waitTime of [delay - GRACE + 5, 20, 39, 41, 50, 79, 81, 100, 119, 121, 160]) {
        const outcome = await outcomeOf(app, other, keys, free, waitTime, delay);
        const right = { isTimeout: true, key, isLate: false, areOthersFree: true };
        expect({ waitTime, ...outcome }).toEqual({ waitTime, ...right });
        await elapse(3 * delay);
      }
      await held.release();
      await scene.nothingLeft();
    },
  );
});
