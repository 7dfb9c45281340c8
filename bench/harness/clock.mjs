/**
 * Converts `performance.now()`, which starts at 0 in each process, to the machine's monotonic clock. An interruption between the
 * two readings makes the difference larger, so the least of many is used.
 */
export const MONOTONIC_OFFSET = Math.min(
  ...Array.from({ length: 200 }, () => -performance.now() + Number(process.hrtime.bigint()) / 1e6),
);

/** The machine's monotonic clock in ms, which all processes share. */
export function monotonicMs() {
  return performance.now() + MONOTONIC_OFFSET;
}

export function elapse(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
