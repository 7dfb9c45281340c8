/**
 * The distance between the clock of this process and that of the machine. Whoever is interrupted between two readings
 * gets it wrong by as long as that took, so the quickest of many pairs counts.
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

/** What turns `performance.now()`, which starts at 0 in each process, into the machine's monotonic clock. */
export const MONOTONIC_OFFSET = measureOffset();

/**
 * Milliseconds on the machine's monotonic clock, which all processes share.
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
