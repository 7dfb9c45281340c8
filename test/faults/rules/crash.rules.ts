import { expect, it } from '@jest/globals';
import { queuedIn } from '../../support/lock-app.js';
import { stopwatch } from '../../support/stopwatch.js';
import { elapse } from '../../support/until.js';
import type { StoreScene } from '../scenes/store-scene.js';

/** The locks of a killed process become free, for callers that already waited and for callers that arrive later. */
export function crashRules(scene: StoreScene): void {
  it.each<[string, number, { limit?: number; permits?: number }]>([
    ['locks', 2_000, {}],
    ['locks', 4_000, {}],
    ['permits', 2_000, { limit: 4, permits: 3 }],
  ])(
    'F20, F55, B58: a killed process frees its %s in time (watchdogTimeout %d), whenever a caller arrives',
    async (_, watchdogTimeout, options) => {
      if (scene.isExclusive && options.limit !== undefined) return;
      const one = options.limit === undefined ? undefined : { limit: options.limit };
      const bound = scene.crashLasts(watchdogTimeout);
      const holder = await scene.worker({ ...scene.workerOptions(scene.server.port), watchdogTimeout });
      const survivor = await scene.app();
      const [watched, unseen, later] = [scene.key(), scene.key(), scene.key()];
      const kept = [];
      for (const key of [watched, unseen, later]) {
        await holder.do('acquire', { key, options });
        if (one !== undefined) kept.push(await survivor.locks.acquire(key, one));
      }
      const waiting = survivor.locks.acquire(watched, { ...options, waitTime: 60_000 });
      await queuedIn(survivor, watched);
      await holder.event('renewed');
      await holder.kill();
      const took = stopwatch();
      const after: number[] = [];
      const watch = async (): Promise<void> => {
        const handle = await waiting;
        after.push(took());
        await handle.release();
      };
      const arrive = async (): Promise<void> => {
        await elapse(watchdogTimeout / 2);
        const app = await scene.app();
        const handle = await app.locks.acquire(later, { ...options, waitTime: 60_000 });
        after.push(took());
        await handle.release();
      };
      await Promise.all([watch(), arrive()]);
      // Waiters poll once a second where nothing is pushed.
      for (const ms of after) expect(ms).toBeLessThan(bound + 1_000);
      await elapse(Math.max(0, bound - took()));
      const late = await scene.app();
      const handle = await late.locks.tryAcquire(unseen, options);
      expect(handle).not.toBeNull();
      // The permits of the survivor are still its own.
      expect(await late.locks.tryAcquire(unseen, one)).toBeNull();
      await handle?.release();
      for (const permit of kept) expect(await permit.release()).toBe('released');
      await scene.nothingLeft();
    },
  );
}
