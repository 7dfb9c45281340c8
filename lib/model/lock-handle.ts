import type { LockLostError } from './lock.errors.js';

/**
 * The result of a release. `released`: the hold lasted until then. `expired`: it had ended before. `unknown`: the store did
 * not reply; the release is retried in the background until the lease ends.
 */
export type ReleaseOutcome = 'released' | 'expired' | 'unknown';

/**
 * One hold: from the grant of a lock to its release or loss. A hold of several keys that were acquired together is lost as
 * soon as one of them is, and is released as a whole.
 */
export interface LockHandle {
  /** The key; of several keys the first. */
  readonly key: string;
  /** All keys, in the order in which they were acquired: that of their UTF-16 code units. */
  readonly keys: readonly string[];
  /**
   * Fencing token: a safe integer, larger for every later hold of the same key. Let the guarded resource reject writes with
   * a smaller token than it has seen. Re-entry keeps the token. Of several keys it is the token of the first; send each
   * resource the token of its own key, from `tokens`.
   */
  readonly token: number;
  /** The token of each key. */
  readonly tokens: ReadonlyMap<string, number>;
  /**
   * Whether the lock was acquired in this process only, because the store was unreachable (`onUnavailable: 'local'`): other
   * processes may hold it, too. Never changes. Of several keys: whether any of them was.
   */
  readonly local: boolean;
  /** When the lock, or the last of several, was granted, ms since the epoch on the store's clock. For people, not for decisions. */
  readonly acquiredAt: number;
  /** Aborted when the hold is lost, with a {@link LockLostError} as reason; not on release. */
  readonly signal: AbortSignal;
  /**
   * Whether the lock is certainly held. Compares with the clocks on every read. It turns from false to true again after a
   * jump of the wall clock, as after a suspension of the machine, if the store confirms that it still has the lock.
   */
  readonly isHeld: boolean;
  /** ms for which the lock, and each of several, is certainly held, by the local clocks; 0 if it is not. */
  readonly remaining: number;

  /**
   * Call it before a step that must not happen without the lock.
   *
   * @throws LockLostError if the hold was lost; LockNotHeldError if it was released, or if the store has to confirm it first
   * after a jump of the wall clock (see `isHeld`)
   */
  assertHeld(): void;

  /**
   * Makes the lease last at least `ms` milliseconds from now (1 … 2 147 483 647). Never shortens it.
   *
   * @throws LockLostError, LockNotHeldError, or LockUnavailableError if the store did not reply; the lease then stays as it
   * was
   */
  extend(ms: number): Promise<void>;

  /** Runs `fn` in the scope of this hold: acquiring the same key again in there is re-entry. Does not release. */
  run<T>(fn: (lock: LockHandle) => Promise<T> | T): Promise<T>;

  /**
   * Releases the lock. Idempotent; never throws, and never frees a lock that someone else holds by now. Of several keys it
   * returns the worst outcome: `expired`, then `unknown`.
   */
  release(): Promise<ReleaseOutcome>;

  [Symbol.asyncDispose](): Promise<void>;
}
