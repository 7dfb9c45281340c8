import { inMs } from '../common/durations.js';
import { checkOperation, DEFAULT_OPERATION } from './lock-kind.js';
import { resolveRetry, type LockRetryOptions, type ResolvedRetry } from './lock-retry.options.js';
import { LockOptionsError } from './lock.errors.js';
import {
  check,
  checkBound,
  checkCount,
  checkNames,
  checkObject,
  checkOneOf,
  checkTime,
  shown,
} from './option-checks.js';

/**
 * Options of every lock. All times are milliseconds.
 *
 * @inline
 */
interface CommonLockOptions {
  /**
   * How long to wait for the lock, in ms, counted from the call: 0 … 2 147 483 647, or `Infinity`. 0 is a single attempt.
   * Then the call fails with a `LockTimeoutError`, or a `LockUnavailableError` if the store was unreachable.
   *
   * @default the module's `waitTime` (5 000 ms); 0 for `tryAcquire`
   */
  readonly waitTime?: number | undefined;
  /**
   * Ends the lease this long after the grant, in ms, even if the work has not ended: 10 … 2 147 483 647.
   *
   * @default none: the watchdog renews the lease until the lock is released or the process dies
   */
  readonly leaseTime?: number | undefined;
  /**
   * How many callers of this process may wait for a key: a whole number from 0, or `Infinity`. Any further call makes a
   * single attempt: it acquires a free lock, and otherwise fails at once with a `LockQueueFullError` (also with
   * `tryAcquire` and `onBusy` of `@Locked`), or a `LockUnavailableError` if the store is unreachable. With 0 no caller
   * waits.
   *
   * Counts the callers of this module instance in the queue of the key, including one whose first request is in flight,
   * and calls with `retry` after their first attempt. Calls that re-enter a hold are neither counted nor rejected. Each
   * key of an array counts separately. No effect with a `waitTime` of 0.
   *
   * @default the module's `maxWaiting` (`Infinity`)
   * @throws LockQueueFullError if this many callers wait and the lock is held
   */
  readonly maxWaiting?: number | undefined;
  /** Ends the wait: the call rejects with the signal's reason. It never ends a hold. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What happens to the result of the work if the lock is lost meanwhile. `'report'`: nothing; `handle.signal`, the
   * `lost` event and the log report the loss. `'throw'`: a `LockLostError` with the value as `result` replaces it. An
   * error of the work is never replaced.
   *
   * `'throw'` also waits for the store's reply to the release, unless the lock stays with this process, for its next
   * caller or its other readers; then only losses that this process knows of are noticed.
   *
   * @default 'report'
   */
  readonly onLost?: 'report' | 'throw' | undefined;
  /**
   * Keeps the lock at least this long after the grant, in ms, even if the work ends sooner: 0 … 2 147 483 647, at most
   * `leaseTime`. For jobs that several processes schedule: their clocks differ, and a process that starts a little
   * later must not find the lock free because the job was quick. Neither the caller nor its process waits; the store
   * keeps the lock. A loss of the lock, `forceRelease` and a crash during the work end it sooner. With ZooKeeper, a call
   * whose time is too long for the session fails with a `LockUnsupportedError`.
   *
   * @default 0
   */
  readonly holdAtLeast?: number | undefined;
  /**
   * Whether the call re-enters a hold of its asynchronous context. With `false` it waits like any other caller, also for
   * a lock of its own. Set it for code that runs in a queue or a pool which keeps the asynchronous context of another
   * caller, since the call would re-enter the lock of that caller.
   *
   * @default the module's `reentrant` (`true`)
   */
  readonly reentrant?: boolean | undefined;
  /**
   * The purpose of the lock, shown by `inspect`: 1 … 200 characters. After a hand-over inside a process (see `fair`),
   * other processes see the label of the hold to which the store granted the lock.
   *
   * @default none
   */
  readonly label?: string | undefined;
  /**
   * The kind of work that the lock protects, for events, metrics and traces: 1 … 100 printable characters, the same for
   * all keys of a kind, such as `'checkout'`. Metrics have a series for each operation, so never derive it from keys or
   * ids: after 200 operations in a process, any further one is reported as `other`.
   *
   * @default `Class.method` under `@Locked`, else `default`
   */
  readonly operation?: string | undefined;
}

/** A `T` without values. The compiler's message shows the property, which says what to do instead. */
type Never<T, Why extends string> = T & Readonly<Record<Why, never>>;

/**
 * How many callers can hold the lock at once. No member has a required property; otherwise, if a property such as `key`
 * were missing, the compiler's message would be about the member's.
 *
 * @inline
 */
type Sharing =
  | {
      /**
       * `'exclusive'`: a single holder. `'shared'`: any number of shared holds at once (readers), but no exclusive
       * hold. Calls are served in order, so readers do not overtake a waiting writer.
       *
       * @default 'exclusive'
       */
      readonly mode?: 'exclusive' | 'shared' | undefined;
      readonly limit?: Never<number, 'limit goes without mode: leave one of them out'> | undefined;
      readonly permits?: Never<number, 'permits goes with limit, without mode'> | undefined;
    }
  | {
      /**
       * Makes the lock a semaphore with this many permits: 1 … 1 000 000; 1 is an exclusive lock. All callers of a key
       * must use the same limit; a call with another one fails with a `LockConflictError`.
       *
       * @default 1
       */
      readonly limit?: number | undefined;
      /**
       * How many of the `limit` permits to acquire, all or none: a whole number from 1 to `limit`. Only with `limit`.
       * Calls are served in order: while the first waiter needs more permits than are free, no later call overtakes it
       * (within the bounds of `fair` where another process holds the permits), and `tryAcquire` finds the lock busy. The
       * permits are renewed, released and lost together. With several keys, the call acquires this many permits of each.
       *
       * @default 1
       */
      readonly permits?: number | undefined;
      readonly mode?: undefined;
    };

/**
 * How a caller waits: in the queue, or by retrying.
 *
 * @inline
 */
type Waiting =
  | {
      /**
       * Strict first come, first served across all processes: the lock never passes from one caller of this process to
       * the next while earlier callers of other processes wait. Without it, the process that holds the lock may serve
       * up to 64 more of its own callers, for at most 50 ms, which is many times faster if the work is short. Set it in
       * all calls of a key.
       *
       * @default false
       */
      readonly fair?: boolean | undefined;
      readonly retry?: Never<LockRetryOptions, 'retry goes without fair: leave one of them out'> | undefined;
    }
  | {
      /**
       * Retries with pauses instead of waiting in the queue, until the lock is acquired, `maxAttempts` attempts have
       * failed or `waitTime` ends. A pause that would last beyond `waitTime` is shortened for a last attempt at its
       * end. Callers in the queue go first, so a call that retries may wait longer. When the attempts run out, the call
       * fails as at the end of `waitTime`; the last attempt that got a reply determines the error. A call that waits
       * for another branch of its own scope does not poll. Requires a `waitTime` above 0, and excludes `fair`.
       *
       * @default none: the call waits in the queue and is woken
       */
      readonly retry?: LockRetryOptions | undefined;
      readonly fair?: false | undefined;
    };

/** Options of a call for one or several locks. All times are milliseconds. */
export type LockOptions = CommonLockOptions & Sharing & Waiting;

/** The options of a call, with defaults. */
export interface ResolvedLockOptions {
  readonly waitTime: number;
  readonly maxWaiting: number;
  readonly leaseTime: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onLost: 'report' | 'throw';
  readonly fair: boolean;
  readonly reentrant: boolean;
  readonly retry: ResolvedRetry | undefined;
  /** How many can hold the lock at once: 1 for exclusive holds, `Infinity` for shared ones. */
  readonly limit: number;
  /** How many permits the hold has: 1 except for semaphores. */
  readonly permits: number;
  readonly holdAtLeast: number;
  readonly label: string | undefined;
  readonly operation: string;
  /** Whether the caller skips its work if the lock is busy; a timeout is then not a failure. */
  readonly skips: boolean;
  /** For traces: called when the call begins to wait. */
  readonly onWaiting?: (() => void) | undefined;
}

/** The property that `@Locked` adds to the options of a call. A symbol, so that printed options do not show it. */
export const DECORATED = Symbol('decorated');

export interface DecoratedCall {
  /** The operation if the option `operation` is missing. */
  readonly operation: string;
  readonly skips: boolean;
}

export const LOCK_OPTION_NAMES = [
  'waitTime',
  'maxWaiting',
  'leaseTime',
  'signal',
  'onLost',
  'fair',
  'retry',
  'mode',
  'limit',
  'permits',
  'holdAtLeast',
  'reentrant',
  'label',
  'operation',
] as const;

/** A shorter lease would end within its own safety margin, even on a fast network; ms. */
const SHORTEST_LEASE = 10;

/** The largest `limit`. */
const LARGEST_LIMIT = 1_000_000;

/** The longest label, characters. */
const LONGEST_LABEL = 200;

const known: ReadonlySet<string> = new Set(LOCK_OPTION_NAMES);

/** What applies to calls that do not say otherwise. */
export interface CallDefaults {
  /** @default Infinity */
  readonly maxWaiting?: number;
  /** @default true */
  readonly reentrant?: boolean;
}

/** Checks the options of a call and applies the defaults. The only place that does. */
export function resolveLockOptions(
  where: string,
  options: (LockOptions & { readonly [DECORATED]?: DecoratedCall }) | undefined = {},
  defaultWaitTime: number,
  { maxWaiting: defaultMaxWaiting = Infinity, reentrant: defaultReentrant = true }: CallDefaults = {},
  skips = false,
): ResolvedLockOptions {
  checkNames(where, checkObject(where, options), known);
  // Not ??, which would accept null.
  const { waitTime = defaultWaitTime, maxWaiting = defaultMaxWaiting, holdAtLeast = 0 } = options;
  const { reentrant = defaultReentrant } = options;
  const { leaseTime, signal, onLost, fair = false, retry, mode, permits, label, operation } = options;
  const decorated = options[DECORATED];
  check(signal === undefined || isAbortSignal(signal), where, 'signal must be an AbortSignal', signal);
  check(typeof fair === 'boolean', where, 'fair must be true or false', fair);
  check(typeof reentrant === 'boolean', where, 'reentrant must be true or false', reentrant);
  const wait = checkTime(where, 'waitTime', waitTime, { min: 0, infinite: true });
  const lease =
    leaseTime === undefined ? undefined : checkTime(where, 'leaseTime', leaseTime, { min: SHORTEST_LEASE });
  const limit = checkSharing(where, mode, options.limit);
  return {
    waitTime: wait,
    maxWaiting: checkBound(where, 'maxWaiting', maxWaiting),
    leaseTime: lease,
    signal,
    onLost: onLost === undefined ? 'report' : checkOneOf(where, 'onLost', onLost, ['report', 'throw']),
    fair,
    reentrant,
    retry: retry === undefined ? undefined : checkRetry(where, resolveRetry(where, retry), wait, fair),
    limit,
    permits: permits === undefined ? 1 : checkPermits(where, permits, options.limit, limit),
    holdAtLeast: checkHoldAtLeast(where, holdAtLeast, lease),
    label: label === undefined ? undefined : checkLabel(where, label),
    operation:
      operation === undefined
        ? (decorated?.operation ?? DEFAULT_OPERATION)
        : checkOperation(where, operation),
    skips: decorated?.skips ?? skips,
  };
}

/** Returns how many can hold the lock at once. */
function checkSharing(where: string, mode: unknown, limit: unknown): number {
  if (mode !== undefined && limit !== undefined) {
    throw new LockOptionsError(
      `${where}: mode and limit exclude each other; got mode ${shown(mode)} and limit ${shown(limit)}. ` +
        "Set mode: 'shared' for readers beside a writer, or limit for a semaphore.",
    );
  }
  if (limit !== undefined) return checkCount(where, 'limit', limit, LARGEST_LIMIT);
  if (mode === undefined) return 1;
  return checkOneOf(where, 'mode', mode, ['exclusive', 'shared']) === 'shared' ? Infinity : 1;
}

/** @param given the option `limit` */
function checkPermits(where: string, permits: unknown, given: unknown, limit: number): number {
  if (given === undefined) {
    throw new LockOptionsError(
      `${where}: permits is how many permits of a semaphore a call acquires, so it needs limit and excludes mode; ` +
        `got permits ${shown(permits)} without limit. Add limit, the number of permits that exist, such as limit: 10, or leave permits out.`,
    );
  }
  if (typeof permits === 'number' && Number.isInteger(permits) && permits >= 1 && permits <= limit)
    return permits;
  throw new LockOptionsError(
    `${where}: permits must be a whole number from 1 to limit (${String(limit)}); got ${shown(permits)}. ` +
      'Ask for fewer permits, or give all calls of the key a larger limit.',
  );
}

function checkHoldAtLeast(where: string, holdAtLeast: unknown, leaseTime: number | undefined): number {
  const atLeast = checkTime(where, 'holdAtLeast', holdAtLeast, { min: 0 });
  if (leaseTime !== undefined && atLeast > leaseTime) {
    throw new LockOptionsError(
      `${where}: holdAtLeast (${inMs(atLeast)}) must not be longer than leaseTime (${inMs(leaseTime)}), ` +
        'after which the lock expires. Make leaseTime longer, or leave it out.',
    );
  }
  return atLeast;
}

function checkLabel(where: string, label: unknown): string {
  const isGood =
    typeof label === 'string' && label.length <= LONGEST_LABEL && !/^$|\p{Surrogate}/u.test(label);
  check(isGood, where, `label must be a string of 1 to ${String(LONGEST_LABEL)} characters`, label);
  return label;
}

/** Rejects options that make `retry` useless. */
function checkRetry(where: string, retry: ResolvedRetry, waitTime: number, fair: boolean): ResolvedRetry {
  if (waitTime === 0) {
    throw new LockOptionsError(
      `${where}: retry needs a waitTime, since with waitTime 0 a call never tries again. Give both, such as waitTime: 5_000, or leave retry out.`,
    );
  }
  if (fair) {
    throw new LockOptionsError(
      `${where}: fair and retry exclude each other, since only callers in the queue are served in order. Leave one of them out.`,
    );
  }
  return retry;
}

/** By shape, since a signal may come from another realm. */
function isAbortSignal(value: unknown): boolean {
  return typeof (value as Partial<AbortSignal> | null)?.throwIfAborted === 'function';
}
