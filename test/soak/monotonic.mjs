/** CLOCK_MONOTONIC in ms: the same for all processes of a machine, and unaffected by changes of the wall clock. */
export function monotonic() {
  return Number(process.hrtime.bigint()) / 1e6;
}
