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

  it('F20, F55, B58: a killed process frees the permits of its semaphores in time, whenever a caller arrives', async () => {
    const watchdogTimeout = 2_000;
    const bound = scene.crashLasts(watchdogTimeout);
    const options = { ...scene.workerOptions(scene.server.port), watchdogTimeout };
    const holder = await WorkerProcess.start(options);
    workers.push(holder);
    const survivor = await scene.app();
    const [watched, unseen, later] = [scene.key(), scene.key(), scene.key()];
    const kept = [];
    for (const key of [watched, unseen, later]) {
      await holder.do('acquire', { key, options: { limit: 4, permits: 3 } });
      kept.push(await survivor.locks.acquire(key, { limit: 4 }));
    }
    const waiting = survivor.locks.acquire(watched, { limit: 4, permits: 2, waitTime: 60_000 });
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
      const handle = await app.locks.acquire(later, { limit: 4, permits: 3, waitTime: 60_000 });
      after.push(took());
      await handle.release();
    };
    await Promise.all([watch(), arrive()]);
    // Waiters poll once a second where nothing is pushed.
    for (const ms of after) expect(ms).toBeLessThan(bound + 1_000);
    await elapse(Math.max(0, bound - took()));
    const late = await scene.app();
    const rest = await late.locks.tryAcquire(unseen, { limit: 4, permits: 3 });
    expect(rest).not.toBeNull();
    // The permits of the survivor are still its own.
    expect(await late.locks.tryAcquire(unseen, { limit: 4 })).toBeNull();
    await rest?.release();
    for (const handle of kept) expect(await handle.release()).toBe('released');
    await scene.nothingLeft();
  });
}
