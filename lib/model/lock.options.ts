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

/** Options of every lock. All times are milliseconds. */
interface CommonLockOptions {
  /**
   * How long to wait for the lock, counted from the call: 0 … 2 147 483 647, or `Infinity`. 0 is a single attempt.
   * After it the call fails with a `LockTimeoutError`, or a `LockUnavailableError` if the store was unreachable.
   *
   * @default the module's `waitTime` (5 000); 0 for `tryAcquire`
   */
  readonly waitTime?: number | undefined;
  /**
   * Frees the lock this long after the grant, even if the work has not ended: 10 … 2 147 483 647. Without it the watchdog
   * renews the lock until it is released or the process dies.
   */
  readonly leaseTime?: number | undefined;
  /**
   * How many callers of this process may wait for a key: a whole number from 0, or `Infinity`. A further call makes a single
   * attempt: it gets a free lock, and fails at once with a `LockQueueFullError` if others hold it (also with `tryAcquire` and
   * `onBusy` of `@Locked`), or a `LockUnavailableError` if the store is unreachable. With 0 no caller waits. It counts the
   * callers of this module instance that wait in the queue of the key, including one whose first request is on its way, and
   * calls with `retry` after their first attempt; it neither counts nor rejects calls that re-enter a hold. Each key of an
   * array counts separately. Has no effect with a `waitTime` of 0.
   *
   * @default the module's `maxWaiting` (`Infinity`)
   * @throws LockQueueFullError if so many callers wait and others hold the lock
   */
  readonly maxWaiting?: number | undefined;
  /** Ends the wait: the call rejects with the signal's reason. It never breaks a hold. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What happens to the result of the work if the lock is lost meanwhile. `'report'`: nothing; `handle.signal`, the `lost`
   * event and the log report the loss. `'throw'`: a `LockLostError` with the value as `result` replaces it. An error of the
   * work is never replaced. `'throw'` also waits for the store's reply to the release, unless the lock stays with this
   * process, for its next caller or other readers: then it notices only losses that this process knows of.
   *
   * @default 'report'
   */
  readonly onLost?: 'report' | 'throw' | undefined;
  /**
   * Keeps the lock this long after the grant, even if the work ends sooner: 0 … 2 147 483 647, at most `leaseTime`. For jobs
   * that several processes schedule: their clocks differ, and a process that starts a little later must not find the lock
   * free because the job was quick. Neither the caller nor its process waits; the store keeps the lock. A loss of the lock,
   * `forceRelease` and a crash during the work end it sooner. ZooKeeper rejects a time that is too long for its sessions
   * with a `LockOptionsError`.
   *
   * @default 0
   */
  readonly holdAtLeast?: number | undefined;
  /**
   * What the lock is used for, shown by `inspect`: 1 … 200 characters. After a hand-over inside a process (see `fair`), other
   * processes see the label of the previous hold.
   *
   * @default none
   */
  readonly label?: string | undefined;
  /**
   * What kind of work the lock protects, for events, metrics and traces: 1 … 100 printable characters, the same for all keys
   * of a kind, such as `'checkout'`. Metrics have a series for each operation, so never derive it from keys or ids: after 200
   * operations in a process, all further ones become `other`.
   *
   * @default `Class.method` under `@Locked`, else `default`
   */
  readonly operation?: string | undefined;
}

/** A `T` that has no values. The compiler's message shows the property, which says what to do instead. */
type Never<T, Why extends string> = T & Readonly<Record<Why, never>>;

/**
 * How the lock is shared. No member has a required property; otherwise, if a property such as `key` were missing, the
 * compiler's message would be about the member's.
 */
type Sharing =
  | {
      /**
       * `'exclusive'`: no one else holds the lock. `'shared'`: any number of shared holds at once (readers), and no exclusive
       * one. Calls are served in order, so readers do not overtake a waiting writer.
       *
       * @default 'exclusive'
       */
      readonly mode?: 'exclusive' | 'shared' | undefined;
      readonly limit?: Never<number, 'limit goes without mode: leave one of them out'> | undefined;
    }
  | {
      /**
       * Makes the lock a semaphore with this many permits: 1 … 1 000 000. All callers of a key have to use the same limit; a
       * call with another one fails with a `LockOptionsError`. 1 is an exclusive lock.
       *
       * @default 1
       */
      readonly limit?: number | undefined;
      readonly mode?: undefined;
    };

/** How a caller waits: in the queue, or by retrying. */
type Waiting =
  | {
      /**
       * Strict first come, first served across all processes: the lock never passes from one caller of this process to the
       * next while earlier callers of other processes wait. Otherwise the process that holds the lock may serve up to 64 more
       * of its own callers, for at most 50 ms, which is many times faster. Set it in all calls of a key.
       *
       * @default false
       */
      readonly fair?: boolean | undefined;
      readonly retry?: Never<LockRetryOptions, 'retry goes without fair: leave one of them out'> | undefined;
    }
  | {
      /**
       * Retries with pauses instead of waiting in the queue, until it gets the lock, has made `maxAttempts` attempts or
       * `waitTime` ends. A pause that would last longer than `waitTime` is shortened for a last attempt at its end. Callers in
       * the queue go first, so a call that retries may wait longer. When the attempts run out, the call fails as it does at the
       * end of `waitTime`; the last attempt with a result decides which error it is. A call that waits for another branch of
       * its own scope does not poll. Needs a `waitTime` above 0, and excludes `fair`.
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
  readonly retry: ResolvedRetry | undefined;
  /** How many may hold the lock at once: 1 for exclusive holds, `Infinity` for shared ones. */
  readonly limit: number;
  readonly holdAtLeast: number;
  readonly label: string | undefined;
  readonly operation: string;
  /** Whether the caller does without a busy lock, so that a timeout is not a failure. */
  readonly skips: boolean;
  /** For traces: called when the call begins to wait. */
  readonly onWaiting?: (() => void) | undefined;
}

/** The property that `@Locked` adds to the options of a call. A symbol, so that printed options do not show it. */
export const DECORATED = Symbol('decorated');

export interface DecoratedCall {
  /** The operation without the option `operation`. */
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
  'holdAtLeast',
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

/** Checks the options of a call and applies the defaults. No other place does. */
export function resolveLockOptions(
  where: string,
  options: (LockOptions & { readonly [DECORATED]?: DecoratedCall }) | undefined,
  defaultWaitTime: number,
  defaultMaxWaiting = Infinity,
  skips = false,
): ResolvedLockOptions {
  if (options === undefined) {
    return {
      waitTime: defaultWaitTime,
      maxWaiting: defaultMaxWaiting,
      leaseTime: undefined,
      signal: undefined,
      onLost: 'report',
      fair: false,
      retry: undefined,
      limit: 1,
      holdAtLeast: 0,
      label: undefined,
      operation: DEFAULT_OPERATION,
      skips,
    };
  }
  checkNames(where, checkObject(where, options), known);
  // Not ??, which would accept null.
  const { waitTime = defaultWaitTime, maxWaiting = defaultMaxWaiting, holdAtLeast = 0 } = options;
  const { leaseTime, signal, onLost, fair = false, retry, mode, limit, label, operation } = options;
  const decorated = options[DECORATED];
  check(signal === undefined || isAbortSignal(signal), where, 'signal must be an AbortSignal', signal);
  check(typeof fair === 'boolean', where, 'fair must be true or false', fair);
  const wait = checkTime(where, 'waitTime', waitTime, { min: 0, infinite: true });
  const lease =
    leaseTime === undefined ? undefined : checkTime(where, 'leaseTime', leaseTime, { min: SHORTEST_LEASE });
  return {
    waitTime: wait,
    maxWaiting: checkBound(where, 'maxWaiting', maxWaiting),
    leaseTime: lease,
    signal,
    onLost: onLost === undefined ? 'report' : checkOneOf(where, 'onLost', onLost, ['report', 'throw']),
    fair,
    retry: retry === undefined ? undefined : checkRetry(where, resolveRetry(where, retry), wait, fair),
    limit: checkSharing(where, mode, limit),
    holdAtLeast: checkHoldAtLeast(where, holdAtLeast, lease),
    label: label === undefined ? undefined : checkLabel(where, label),
    operation:
      operation === undefined
        ? (decorated?.operation ?? DEFAULT_OPERATION)
        : checkOperation(where, operation),
    skips: decorated?.skips ?? skips,
  };
}

/** Returns how many may hold the lock at once. */
function checkSharing(where: string, mode: unknown, limit: unknown): number {
  if (mode !== undefined && limit !== undefined) {
    throw new LockOptionsError(
      `${where}: mode and limit exclude each other; got mode ${shown(mode)} and limit ${shown(limit)}. ` +
        "Say mode: 'shared' for readers beside a writer, or limit for a semaphore.",
    );
  }
  if (limit !== undefined) return checkCount(where, 'limit', limit, LARGEST_LIMIT);
  if (mode === undefined) return 1;
  return checkOneOf(where, 'mode', mode, ['exclusive', 'shared']) === 'shared' ? Infinity : 1;
}

function checkHoldAtLeast(where: string, holdAtLeast: unknown, leaseTime: number | undefined): number {
  const atLeast = checkTime(where, 'holdAtLeast', holdAtLeast, { min: 0 });
  if (leaseTime !== undefined && atLeast > leaseTime) {
    throw new LockOptionsError(
      `${where}: holdAtLeast (${inMs(atLeast)}) must not be longer than leaseTime (${inMs(leaseTime)}), ` +
        'after which the lock frees itself. Make leaseTime longer, or leave it out.',
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
  return (
    typeof value === 'object' &&
    value !== null &&
    'aborted' in value &&
    'addEventListener' in value &&
    typeof value.addEventListener === 'function' &&
    'throwIfAborted' in value &&
    typeof value.throwIfAborted === 'function'
  );
}
