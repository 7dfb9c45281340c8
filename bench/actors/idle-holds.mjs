/** Holds many locks and does nothing else. */
import { openApplication } from '../candidates/ours.mjs';
import { serve } from '../harness/serve.mjs';

const handles = [];
let locks;

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

serve({
  async open(url, moduleOptions) {
    ({ locks } = await openApplication({ redis: url, ...moduleOptions }));
    // Whatever the first lock of all starts is there before anything is counted.
    await locks.withLock('first', () => undefined);
    return timers();
  },

  async hold(count) {
    handles.push(
      ...(await Promise.all(Array.from({ length: count }, (_, index) => locks.acquire(`idle:${index}`)))),
    );
    return timers();
  },

  processorMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },

  held() {
    return handles.filter((handle) => handle.isHeld).length;
  },
});
