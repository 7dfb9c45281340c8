/** How long a caller that has timed out waits for a reply in flight, ms. */
export const ANSWER_GRACE = 30;

/** How late a timeout may be, ms. */
export const LATEST_OUTCOME = 45;

/** If the store has not replied for this long, ms, its earlier replies about a holder are outdated. */
export const SILENCE = 250;

/** How long a single attempt waits for a new connection if its own turned out to be dead, ms. */
export const RECONNECT = 300;

/** A wait without limit that looks like a deadlock is logged after this long, ms. */
export const LONG_WAIT = 10_000;

/** The longest pause between requests of a waiter, ms: its heartbeat, and the remedy for lost messages. */
export const POLL = 1_000;

/** Spreads the requests of all waiters of an expired lock, ms. */
export const POLL_JITTER = 30;

/** Lease of a pushed grant until it is claimed, ms. */
export const CLAIM_LEASE = 2_000;
