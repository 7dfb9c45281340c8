/** How much later than asked for an outcome may come so that the answer to a request under way still counts, ms (B10). */
export const ANSWER_GRACE = 30;

/** How long after the end of `waitTime` a caller hears of it at the latest, ms (B10). */
export const LATEST_OUTCOME = 45;

/** A request without an answer for longer than this, ms, says nothing any more about who holds the lock (B11). */
export const SILENCE = 250;

/** A waiter asks again at least this often, ms: its heartbeat, and the cure for lost messages (P14). */
export const POLL = 1_000;

/** So that the waiters of an expired lock do not all ask in the same moment, ms. */
export const POLL_JITTER = 30;

/** Lease of a pushed grant until it is claimed, ms (P12). */
export const CLAIM_LEASE = 2_000;
