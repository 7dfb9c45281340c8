/** A process with many readers. Each acquires its read lock again immediately after releasing it. */
import { openApplication } from '../candidates/ours.mjs';
import { elapse } from '../harness/clock.mjs';
import { serve } from '../harness/serve.mjs';

const OPTIONS = { mode: 'shared', waitTime: 60_000 };

let locks;
let stopped = false;
let readers = [];
let longest = 0;

async function readOn(key, sectionMs) {
  while (!stopped) {
    await locks.withLock(key, OPTIONS, async () => {
      const from = performance.now();
      if (sectionMs > 0) await elapse(sectionMs);
      longest = Math.max(longest, performance.now() - from);
    });
    // Without section and request, the loop would otherwise block the event loop.
    if (sectionMs === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

serve({
  async open(url) {
    ({ locks } = await openApplication({ redis: url }));
  },

  async start(key, count, sectionMs) {
    readers = Array.from({ length: count }, () => readOn(key, sectionMs));
    await elapse(300);
  },

  /** @returns the longest section, ms */
  async stop() {
    stopped = true;
    await Promise.all(readers);
    return longest;
  },
});
