import { elapse } from './until.js';
import { VirtualTime } from './virtual-time.js';

/** Short compared with every bound, long compared with the lateness of a timer on an idle machine, ms. */
const SLICE = 25;

/**
 * Resolves after this many ms in which this process could run. A busy machine may suspend it for a while; each slice that
 * takes longer than planned extends the whole time.
 */
export async function ownTime(ms: number, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
  // Virtual time does not pass while the process is suspended.
  if (VirtualTime.current) return elapse(ms, undefined, options);
  for (let left = ms; left > 0; left -= SLICE) await elapse(Math.min(left, SLICE), undefined, options);
}

/** Measures how long this process could run, ms, at most the elapsed time. Calling the result ends the measurement. */
export function stopwatch(): () => number {
  const startedAt = performance.now();
  // Virtual time does not pass while the process is suspended.
  if (VirtualTime.current) return () => performance.now() - startedAt;
  let slices = 0;
  const timer = setInterval(() => (slices += 1), SLICE).unref();
  return () => {
    clearInterval(timer);
    return Math.min(performance.now() - startedAt, (slices + 1) * SLICE);
  };
}
