/** A process whose callers request thousands of different locks at once. */
import { monotonicMs } from '../harness/clock.mjs';
import { HeldLocks } from '../harness/held-locks.mjs';
import { serve } from '../harness/serve.mjs';

let candidate;
let held;
let floods = 0;

/** Requests so many free locks at once. Returns when the last was acquired, and how many calls failed. */
async function flood(count) {
  floods += 1;
  const startedAt = monotonicMs();
  let lastAt = startedAt;
  let failed = 0;
  let error;
  const use = async (index) => {
    try {
      await candidate.withLock(`flood:${process.pid}:${floods}:${index}`, () => {
        lastAt = monotonicMs();
      });
    } catch (failure) {
      failed += 1;
      error ??= failure.message;
    }
  };
  await Promise.all(Array.from({ length: count }, (_, index) => use(index)));
  return { startedAt, lastAt, failed, error };
}

serve({
  /** @param file in `candidates/`, of this library */
  async open(file, url, moduleOptions) {
    const { open } = await import(`../candidates/${file}.mjs`);
    candidate = await open(url, moduleOptions, undefined, 'withLock');
    held = new HeldLocks(candidate);
  },
  hold: (count) => held.hold('held', count),
  flood,
  /** Returns how many of the held locks were lost. */
  release: () => held.release(),
});
