/** A process that holds many locks and does nothing else. */
import { createHook } from 'node:async_hooks';
import { openApplication } from '../candidates/ours.mjs';
import { serve } from '../harness/serve.mjs';

const handles = [];
let locks;

/** All timers, including unref'd ones, which `process.getActiveResourcesInfo()` omits. */
const timers = new Set();
const timerCount = createHook({
  init(id, type) {
    if (type === 'Timeout') timers.add(id);
  },
  destroy(id) {
    timers.delete(id);
  },
}).enable();

async function countTimers() {
  // Cleared timers are reported asynchronously.
  await new Promise((resolve) => setImmediate(resolve));
  return timers.size;
}

serve({
  async open(url, moduleOptions) {
    ({ locks } = await openApplication({ redis: url, ...moduleOptions }));
    // The first lock of a process starts timers that must not be counted as those of the holds.
    await locks.withLock('first', () => undefined);
    return await countTimers();
  },

  async hold(count) {
    handles.push(
      ...(await Promise.all(
        Array.from({ length: count }, (_, index) => locks.acquire(`idle:${process.pid}:${index}`)),
      )),
    );
    const counted = await countTimers();
    // The hook costs processor time, which must not count as that of the watchdog.
    timerCount.disable();
    return counted;
  },

  processorMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },

  held() {
    return handles.filter((handle) => handle.isHeld).length;
  },
});
