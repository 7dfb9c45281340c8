/** Holds many locks and does nothing else. */
import { createHook } from 'node:async_hooks';
import { openApplication } from '../candidates/ours.mjs';
import { serve } from '../harness/serve.mjs';

const handles = [];
let locks;

/** Those of the process that would not keep it alive too, which `process.getActiveResourcesInfo()` leaves out. */
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
  // What was cleared is told a moment later.
  await new Promise((resolve) => setImmediate(resolve));
  return timers.size;
}

serve({
  async open(url, moduleOptions) {
    ({ locks } = await openApplication({ redis: url, ...moduleOptions }));
    // Whatever the first lock of all starts is there before anything is counted.
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
    // It costs time, which must not count as that of the watchdog.
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
