import type { LockLostError } from './lock.errors.js';

/**
 * What became of a lock that was given back. `released`: it was ours until then. `expired`: the hold had ended before.
 * `unknown`: the store did not answer; the release is retried in the background until the lease is over.
 */
export type ReleaseOutcome = 'released' | 'expired' | 'unknown';

/**
 * One hold: from the grant of a lock to its release or loss. A hold of several keys that were taken together is lost as
 * soon as one of them is, and is given back as a whole.
 */
export interface LockHandle {
  /** The key; of several the first in their order. */
  readonly key: string;
  /** All keys, in the order in which they were taken: that of their UTF-16 code units. */
  readonly keys: readonly string[];
  /**
   * Fencing token: a safe integer, larger for every later hold of the same key. Let the guarded resource refuse writes
   * that carry a smaller token than it has seen. Re-entry keeps the token. Of several keys it is that of the first; send
   * each resource the token of its own key, from `tokens`.
   */
  readonly token: number;
  /** The token of each key. */
  readonly tokens: ReadonlyMap<string, number>;
  /**
   * Whether the lock was taken in this process only, because the store could not be reached (`onUnavailable: 'local'`):
   * other processes may hold it, too. Never changes. Of several keys: whether any of them was.
   */
  readonly degraded: boolean;
  /** When the lock, or the last of several, was granted, ms since the epoch on the store's clock: for people, not for decisions. */
  readonly acquiredAt: number;
  /** Aborted when the hold is lost, with a {@link LockLostError} as reason; never on release. */
  readonly signal: AbortSignal;
  /**
   * Whether the lock is surely held. Reads the clocks when asked. It turns from false to true again where the wall clock
   * jumped ahead, as after a suspension of the machine, and the store then confirms that it still has the lock.
   */
  readonly isHeld: boolean;
  /** ms for which the lock, and each of several, is surely held yet, by the local clocks; 0 when it is not. */
  readonly remaining: number;

  /**
   * Call it before a step that must not happen without the lock.
   *
   * @throws LockLostError if the hold was lost, LockNotHeldError if it was released, or is not sure until
   * the store has confirmed it since the wall clock jumped ahead (see `isHeld`).
   */
  assertHeld(): void;

  /**
   * Makes the lease last at least `ms` milliseconds from now (1 … 2 147 483 647). Never shortens it.
   *
   * @throws LockLostError, LockNotHeldError, or LockUnavailableError if the store did not answer;
   * the hold then lasts as long as it did.
   */
  extend(ms: number): Promise<void>;

  /** Runs `fn` inside this hold's scope: taking the same key again in there is re-entry. Does not release. */
  run<T>(fn: (lock: LockHandle) => Promise<T> | T): Promise<T>;

  /**
   * Gives the lock back. Idempotent; never throws, and never frees a lock that someone else holds by now. Of several
   * keys the worst outcome counts: `expired`, then `unknown`.
   */
  release(): Promise<ReleaseOutcome>;

  [Symbol.asyncDispose](): Promise<void>;
}
