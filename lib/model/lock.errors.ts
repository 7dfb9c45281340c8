import type { LockHolder } from './lock-info.js';

/** The `code` of each error, for callers that compare strings rather than classes. */
export type LockErrorCode =
  | 'LOCK_OPTIONS'
  | 'LOCK_TIMEOUT'
  | 'LOCK_QUEUE_FULL'
  | 'LOCK_UNAVAILABLE'
  | 'LOCK_LOST'
  | 'LOCK_NOT_HELD'
  | 'LOCK_UPGRADE'
  | 'LOCK_CLOSED';

interface LockErrorDetails {
  readonly keys?: readonly string[];
  readonly cause?: unknown;
}

/**
 * Under which an object that takes the place of a lock error somewhere names that error. It counts as one for
 * `instanceof`, whatever else it is: a class can extend only one other.
 */
export const STANDS_FOR = Symbol.for('nestjs-distributed-lock:stands-for');

/** What every error of this library extends. Knows nothing of HTTP. */
export abstract class LockError extends Error {
  /** True also for what stands for such an error, as over HTTP. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const isInstance = (candidate: unknown): boolean =>
      Function.prototype[Symbol.hasInstance].call(this, candidate);
    return isInstance(value) || isInstance(stoodFor(value));
  }

  abstract readonly code: LockErrorCode;
  /** The keys that the failed call was about; empty when it was about none. */
  readonly keys: readonly string[];

  constructor(message: string, details: LockErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.name = new.target.name;
    this.keys = details.keys ?? [];
  }

  /** JSON leaves the message of an error out by itself. */
  toJSON(): object {
    const { name, code, message, keys } = this;
    return { name, code, message, keys };
  }
}

function stoodFor(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as { readonly [STANDS_FOR]?: unknown })[STANDS_FOR];
}

/** The error that a thrown value is or stands for. */
export function lockErrorOf(thrown: unknown): LockError | undefined {
  if (!(thrown instanceof LockError)) return undefined;
  const original = stoodFor(thrown);
  return original instanceof LockError ? original : thrown;
}

/** A bad option or key, told before anything is sent; or a `limit` or `mode` on which the callers of a key disagree. */
export class LockOptionsError extends LockError {
  readonly code = 'LOCK_OPTIONS';
}

/** Who holds a lock that a call did not get. */
export type LockTimeoutHolder = Pick<LockHolder, 'token' | 'acquiredAt' | 'label' | 'process'>;

/** The lock was held by others until `waitTime` ended, or the tries of `retry` ran out. */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';
  /** How long the call waited, ms. */
  readonly waitedFor: number;
  /** What was left of the holder's lease, ms, if the store told. A renewed lease may last longer. */
  readonly remaining: number | undefined;
  /**
   * Whether `remaining` is only an upper bound. It is for leases of other processes in etcd and ZooKeeper: these stores keep
   * no clock for a lease, so the holder may have renewed it long ago.
   */
  readonly remainingIsBound: boolean;
  /**
   * Who held the lock when the wait ended, the oldest of several. Undefined if that is not known: the store is asked only for
   * calls with a `waitTime` that fail, and only for a moment.
   */
  readonly holder: LockTimeoutHolder | undefined;

  constructor(
    message: string,
    details: LockErrorDetails & {
      readonly waitedFor: number;
      readonly remaining?: number | undefined;
      readonly remainingIsBound?: boolean | undefined;
      readonly holder?: LockTimeoutHolder | undefined;
    },
  ) {
    super(message, details);
    this.waitedFor = details.waitedFor;
    this.remaining = details.remaining;
    this.remainingIsBound = details.remainingIsBound === true;
    this.holder = details.holder;
  }
}

/** So many callers of this process waited for the lock already that this one, which would have to wait too, was refused. */
export class LockQueueFullError extends LockError {
  readonly code = 'LOCK_QUEUE_FULL';
  /** How many callers of this process waited for the lock. */
  readonly waiting: number;
  /** How many the refused call accepted at most. */
  readonly maxWaiting: number;

  constructor(
    message: string,
    details: LockErrorDetails & { readonly waiting: number; readonly maxWaiting: number },
  ) {
    super(message, details);
    this.waiting = details.waiting;
    this.maxWaiting = details.maxWaiting;
  }
}

/** The store could not be reached, refused to write, or answered when the caller's `leaseTime` was over. The cause says which. */
export class LockUnavailableError extends LockError {
  readonly code = 'LOCK_UNAVAILABLE';
}

/**
 * Why a hold ended early. `expired`: its lease ran out, or its data vanished from the store. `taken`: someone else has
 * the lock, or the holder heard that it was released by force. `unreachable`: it could not be renewed in time,
 * or the application shut down before its work ended.
 */
export type LockLostReason = 'expired' | 'taken' | 'unreachable';

/** The hold ended before it was released. */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';
  readonly reason: LockLostReason;
  /** With `onLost: 'throw'`: what the work returned. */
  readonly result: unknown;

  constructor(
    message: string,
    details: LockErrorDetails & { readonly reason: LockLostReason; readonly result?: unknown },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.result = details.result;
  }
}

/** `assertHeld` or `extend` without a hold, or `assertHeld` with one that is not sure at the moment. */
export class LockNotHeldError extends LockError {
  readonly code = 'LOCK_NOT_HELD';
}

/**
 * All of a lock was asked for inside a shared hold of it. It could never be had: the hold around it ends only when
 * the work inside has ended.
 */
export class LockUpgradeError extends LockError {
  readonly code = 'LOCK_UPGRADE';
}

/**
 * A lock was asked for or waited for when the application had stopped everything that uses locks, or waited for without
 * limit until `shutdownTimeout` was over.
 */
export class LockClosedError extends LockError {
  readonly code = 'LOCK_CLOSED';
}
