/** CLOCK_MONOTONIC in ms: one clock for all processes of a machine, which no change of the time of day moves. */
export function monotonic() {
  return Number(process.hrtime.bigint()) / 1e6;
}
