/**
 * How long a request may take, ms: well below a third of the lease, so that a renewal can fail and be tried again (P31).
 */
export function requestTimeoutFor(watchdogTimeout: number): number {
  return Math.min(2_000, watchdogTimeout / 6);
}
