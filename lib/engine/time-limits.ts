import { deadlineOf, type MonotonicMs } from '../common/clock.js';

/** How long a caller whose time is over waits for an answer on its way, ms (B10). */
export const ANSWER_GRACE = 30;

/** How late a timeout may be, ms (B10). */
export const LATEST_OUTCOME = 45;

/** After so long without an answer, ms, older answers no longer tell who holds the lock (B11). */
export const SILENCE = 250;

/** How often a waiter asks again at least, ms: its heartbeat, and the remedy for lost messages (P14). */
export const POLL = 1_000;

/** Spreads the requests of all waiters of an expired lock, ms. */
export const POLL_JITTER = 30;

/** Lease of a pushed grant until it is claimed, ms (P12). */
export const CLAIM_LEASE = 2_000;

/** Whether the caller's own `leaseTime` is over when an answer takes so many ms. */
export function isLeaseTooShort(
  { leaseTime }: { readonly leaseTime: number | undefined },
  took: number,
): boolean {
  return leaseTime !== undefined && deadlineOf(0 as MonotonicMs, leaseTime) <= took;
}
