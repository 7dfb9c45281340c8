/** Measures the heap that many holds, or many waiters, occupy. Run with --expose-gc. */
import { openApplication } from '../candidates/ours.mjs';
import { heapUsed } from '../harness/heap.mjs';
import { serve } from '../harness/serve.mjs';

let locks;
/** References that protect the measured objects from garbage collection. */
const kept = [];

async function bytesEach(count, fill) {
  const before = (await heapUsed()).used;
  await fill();
  return ((await heapUsed()).used - before) / count;
}

serve({
  async open(url, warmUps) {
    ({ locks } = await openApplication({ redis: url }));
    const handles = await Promise.all(
      Array.from({ length: warmUps }, (_, index) => locks.acquire(`warm-up:${process.pid}:${index}`)),
    );
    await Promise.all(handles.map((handle) => handle.release()));
  },

  /** Occupies the key for `waiters` of another process. */
  async hold(key) {
    kept.push(await locks.acquire(key));
  },

  /** Bytes per hold, each on its own key. The keys are created before: they belong to the application. */
  async holds(count) {
    const keys = Array.from({ length: count }, (_, index) => `hold:${index}`);
    const handles = new Array(count).fill(null);
    kept.push(keys, handles);
    return await bytesEach(count, async () => {
      await Promise.all(keys.map(async (key, index) => (handles[index] = await locks.acquire(key))));
    });
  },

  /** Bytes per waiter for a key that another process holds, including the promise of the call. */
  async waiters(count, key) {
    const promises = new Array(count).fill(null);
    kept.push(promises);
    let queued;
    const asked = new Promise((resolve) => (queued = resolve));
    const subscription = locks.events.subscribe(({ type }) => type === 'queued' && queued());
    const each = await bytesEach(count, async () => {
      for (let i = 0; i < count; i++) promises[i] = locks.acquire(key, { waitTime: 600_000 });
      await asked;
    });
    subscription.unsubscribe();
    return each;
  },

  /** Bytes per pending async call that awaits a promise: the minimum for any waiter. */
  async promises(count) {
    const never = [];
    const wait = async () => {
      await new Promise((resolve) => never.push(resolve));
    };
    const promises = new Array(count).fill(null);
    kept.push(promises, never);
    return await bytesEach(count, async () => {
      for (let i = 0; i < count; i++) promises[i] = wait();
    });
  },
});
