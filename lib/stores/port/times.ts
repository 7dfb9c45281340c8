/** How long a waiter keeps its place without asking again, ms: three polls (P15). */
export const WAITER_TTL = 3_000;

/** How long an owner that was given up in doubt is refused, ms: longer than a request can be late (P32). */
export const TOMBSTONE_TTL = 60_000;

/** How long the first waiter holds back its request until grants can be pushed to it, ms. */
export const SUBSCRIBE_TIMEOUT = 500;

/** How long a request may take, ms: well below a third of the lease, so that a renewal can fail and be tried again (P31). */
export function requestTimeoutFor(watchdogTimeout: number, longest = 2_000): number {
  return Math.min(longest, watchdogTimeout / 6);
}

/** ms before try number `attempt` (from 0) to connect: up to a second, with jitter, so that many processes spread out. */
export function pauseBeforeConnecting(attempt: number, longest = 1_000): number {
  return Math.min(25 * 2 ** attempt, longest) * (0.75 + Math.random() / 4);
}

/** How late a timer has to fire, ms, for the process to have been stopped or blocked meanwhile. */
export const MIN_STALL = 50;
