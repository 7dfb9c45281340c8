import type { MonotonicMs } from '../../stores/port/lock-store.js';

/** Who is told what came of a request for tokens. */
export interface TokenTaker {
  /** The store brought more tokens; it was asked at `sentAt`. */
  renewed(token: number, tokens: number, othersWait: boolean, sentAt: MonotonicMs): void;
  /** The store did not answer, or no longer has the lock. */
  failed(): void;
}
