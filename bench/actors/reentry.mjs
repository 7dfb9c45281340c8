/** A process that repeatedly acquires a lock that it already holds. */
import { openApplication } from '../candidates/ours.mjs';
import { serve } from '../harness/serve.mjs';

const BATCH = 1_000;
const nothing = () => undefined;
let locks;

serve({
  async open(url) {
    ({ locks } = await openApplication({ redis: url }));
  },

  /** @returns re-entries per second */
  async run(durationMs) {
    return await locks.withLock('re-entry', async () => {
      const started = performance.now();
      let times = 0;
      let took = 0;
      while (took < durationMs) {
        for (let i = 0; i < BATCH; i++) await locks.withLock('re-entry', nothing);
        times += BATCH;
        took = performance.now() - started;
      }
      return times / (took / 1_000);
    });
  },
});
