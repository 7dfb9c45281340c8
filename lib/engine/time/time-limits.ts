/** How much later than asked for an outcome may come so that the answer to a request under way still counts, ms (B10). */
export const ANSWER_GRACE = 30;

/** How long after the end of `waitTime` a caller hears of it at the latest, ms (B10). */
export const LATEST_OUTCOME = 45;

/** A request without an answer for longer than this, ms, says nothing any more about who holds the lock (B11). */
export const SILENCE = 250;
