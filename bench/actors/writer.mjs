/** A process that repeatedly acquires an exclusive lock, and reports how long it waited. */
import { openApplication } from '../candidates/ours.mjs';
import { elapse, monotonicMs } from '../harness/clock.mjs';
import { serve } from '../harness/serve.mjs';

let locks;

serve({
  async open(url) {
    ({ locks } = await openApplication({ redis: url }));
  },

  async write(key, writes, [least, most]) {
    const waits = [];
    let failed = 0;
    for (let i = 0; i < writes; i++) {
      await elapse(least + Math.random() * (most - least));
      const from = monotonicMs();
      try {
        waits.push((await locks.withLock(key, { waitTime: 10_000 }, monotonicMs)) - from);
      } catch {
        failed++;
      }
    }
    return { waits, failed };
  },
});
