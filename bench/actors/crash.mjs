/** A process that acquires locks and waits for locks, and that the benchmark kills or stops. */
import { openApplication } from '../candidates/ours.mjs';
import { monotonicMs } from '../harness/clock.mjs';
import { serve } from '../harness/serve.mjs';

const handles = new Map();
const waits = new Map();
let locks;

serve({
  async open(url, moduleOptions) {
    ({ locks } = await openApplication({ redis: url, ...moduleOptions }));
  },

  async acquire(key) {
    handles.set(key, await locks.acquire(key));
  },

  /** Returns once the waiter is in the queue. */
  async queueFor(key) {
    const queued = new Promise((resolve) => {
      const subscription = locks.events.subscribe((event) => {
        if (event.type !== 'queued' || event.key !== key) return;
        subscription.unsubscribe();
        resolve();
      });
    });
    const granted = locks.withLock(key, { waitTime: 60_000 }, () => monotonicMs());
    // `grantedAt` reports a rejection.
    granted.catch(() => undefined);
    waits.set(key, granted);
    await queued;
  },

  /** @returns when the lock was granted */
  async grantedAt(key) {
    return await waits.get(key);
  },

  async release(key) {
    const releasedAt = monotonicMs();
    await handles.get(key).release();
    return releasedAt;
  },
});
