import type { LockLostError } from './lock.errors.js';

/**
 * The result of a release. `released`: the hold lasted until the release. `kept`: so it did, but work that re-entered
 * it still runs, and the lock is released when that ends. `expired`: the hold had ended earlier. `unknown`: the store did
 * not reply; the release is retried in the background until the lease ends.
 */
export type ReleaseOutcome = 'released' | 'kept' | 'expired' | 'unknown';

/**
 * One hold: from the grant of a lock to its release or loss. A hold of several keys that were acquired together is lost
 * as soon as one of them is, and is released as a whole.
 */
export interface LockHandle {
  /** The key; of several keys the first. */
  readonly key: string;
  /** All keys, in the order in which they were acquired: by their UTF-16 code units. */
  readonly keys: readonly string[];
  /**
   * Fencing token: a safe integer, larger for every later hold of the same key. Let the guarded resource reject writes
   * with a smaller token than it has seen. Re-entry keeps the token. Of several keys, this is the token of the first;
   * send each resource the token of its own key, from `tokens`.
   */
  readonly token: number;
  /** The token of each key. */
  readonly tokens: ReadonlyMap<string, number>;
  /**
   * Whether the lock was acquired in this process only, because the store was unreachable (`onUnavailable: 'local'`):
   * other processes may hold it too. Never changes. For several keys: whether any was.
   */
  readonly local: boolean;
  /**
   * When the lock, or the last of several, was granted, ms since the epoch on the store's clock (on etcd, on this
   * process's). For display, not for decisions.
   */
  readonly acquiredAt: number;
  /**
   * Aborted when the hold is lost, with a {@link LockLostError} as reason; not because of a release. Each read of `aborted`
   * checks the clock.
   */
  readonly signal: AbortSignal;
  /**
   * Whether the lock is certainly held. Each read checks the clocks. The value may turn from false back to true after a
   * jump of the wall clock, for example when the machine was suspended, once the store confirms the hold.
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
   * Extends the lease to at least `ms` milliseconds from now (1 … 2 147 483 647). Never shortens it.
   *
   * @throws LockLostError if the hold was lost; LockNotHeldError if it was released; LockUnavailableError if the store
   * did not reply or rejected the request, and the lease is unchanged; LockOptionsError for an invalid `ms`
   */
  extend(ms: number): Promise<void>;

  /**
   * Runs `fn` in the scope of this hold, where acquiring the same key again re-enters the lock. Does not release it.
   *
   * @throws LockLostError or LockNotHeldError, as `assertHeld`, and `fn` is not called; whatever `fn` throws
   */
  run<T>(fn: (lock: LockHandle) => Promise<T> | T): Promise<T>;

  /**
   * Ends this hold. The lock is released with the last hold: work that has re-entered it keeps it until it ends.
   * Idempotent; never throws, and never releases a later hold of another caller. For several keys it returns the worst
   * outcome: `expired`, then `unknown`, then `kept`.
   */
  release(): Promise<ReleaseOutcome>;

  [Symbol.asyncDispose](): Promise<void>;
}
