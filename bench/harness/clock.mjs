/**
 * The offset between the clock of this process and that of the machine. An interruption between the two readings falsifies
 * the result by its length, so the fastest of many attempts is used.
 */
function measureOffset() {
  let offset = 0;
  let quickest = Infinity;
  for (let i = 0; i < 200; i++) {
    const before = performance.now();
    const machine = Number(process.hrtime.bigint()) / 1e6;
    const after = performance.now();
    if (after - before < quickest) {
      quickest = after - before;
      offset = machine - (before + after) / 2;
    }
  }
  return offset;
}

/** Converts `performance.now()`, which starts at 0 in each process, to the machine's monotonic clock. */
export const MONOTONIC_OFFSET = measureOffset();

/**
 * The machine's monotonic clock in ms, which all processes share.
 *
 * @returns {number}
 */
export function monotonicMs() {
  return performance.now() + MONOTONIC_OFFSET;
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
export function elapse(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
