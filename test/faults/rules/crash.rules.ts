import { afterEach, expect, it } from '@jest/globals';
import { queuedIn } from '../../support/lock-app.js';
import { stopwatch } from '../../support/stopwatch.js';
import { elapse } from '../../support/until.js';
import { WorkerProcess } from '../../support/worker-process.js';
import type { StoreScene } from '../scenes/store-scene.js';

/** The locks of a killed process become free, for callers that already waited and for callers that arrive later. */
export function crashRules(scene: StoreScene): void {
  const workers: WorkerProcess[] = [];
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.kill()));
  });

  it.each([2_000, 4_000])(
    'F20, F55: a killed process with a watchdogTimeout of %d frees its locks in time, whenever a caller arrives',
    async (watchdogTimeout) => {
      const bound = scene.crashLasts(watchdogTimeout);
      const options = { ...scene.workerOptions(scene.server.port), watchdogTimeout };
      const holder = await WorkerProcess.start(options);
      workers.push(holder);
      const watcher = await scene.app();
      const [watched, unseen, later] = [scene.key(), scene.key(), scene.key()];
      for (const key of [watched, unseen, later]) await holder.do('acquire', { key });
      const waiting = watcher.locks.acquire(watched, { waitTime: 60_000 });
      await queuedIn(watcher, watched);
      await holder.event('renewed');
      await holder.kill();
      const took = stopwatch();
      const after = new Map<string, number>();
      const watch = async (): Promise<void> => {
        const handle = await waiting;
        after.set('watching', took());
        await handle.release();
      };
      const arrive = async (): Promise<void> => {
        await elapse(watchdogTimeout / 2);
        const app = await scene.app();
        const handle = await app.locks.acquire(later, { waitTime: 60_000 });
        after.set('arriving', took());
        await handle.release();
      };
      await Promise.all([watch(), arrive()]);
      // Waiters poll once a second where nothing is pushed.
      for (const ms of after.values()) expect(ms).toBeLessThan(bound + 1_000);
      await elapse(Math.max(0, bound - took()));
      const late = await scene.app();
      const handle = await late.locks.tryAcquire(unseen);
      expect(handle).not.toBeNull();
      await handle?.release();
      await scene.nothingLeft();
    },
  );
}
