import { elapse } from './until.js';
import { VirtualTime } from './virtual-time.js';

/** Short against every bound, long against what a timer is late on an idle machine, ms. */
const SLICE = 25;

/**
 * Resolves after so many ms in which this process could run. A busy machine lets it stand still at times; by so much as
 * a slice of the time is longer than it should be, the whole is longer.
 */
export async function ownTime(ms: number, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
  // Virtual time does not pass while the process stands still.
  if (VirtualTime.current) return elapse(ms, undefined, options);
  for (let left = ms; left > 0; left -= SLICE) await elapse(Math.min(left, SLICE), undefined, options);
}

/** How long this process could run since then, ms; not more than has passed. Ends the measurement. */
export function stopwatch(): () => number {
  const startedAt = performance.now();
  // Virtual time does not pass while the process stands still.
  if (VirtualTime.current) return () => performance.now() - startedAt;
  let slices = 0;
  const timer = setInterval(() => (slices += 1), SLICE).unref();
  return () => {
    clearInterval(timer);
    return Math.min(performance.now() - startedAt, (slices + 1) * SLICE);
  };
}
