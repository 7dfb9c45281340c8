import { checkNames, checkObject, checkOneOf, checkTime, shown } from './option-checks.js';
import { LockOptionsError } from './lock.errors.js';
import { resolveRetry, type LockRetryOptions, type ResolvedRetry } from './lock-retry.options.js';

/** How one lock is taken. All times are milliseconds. */
export interface LockOptions {
  /**
   * How long to wait for the lock, counted from the call: 0 … 2 147 483 647, or `Infinity`. 0 tries once.
   * When it ends, the call fails with a `LockTimeoutError`, or a `LockUnavailableError` if the store could not be asked.
   *
   * @default the module's `waitTime` (5 000); 0 for `tryAcquire`
   */
  readonly waitTime?: number | undefined;
  /**
   * Frees the lock this long after the grant, whether or not the work has ended: 10 … 2 147 483 647. Nothing renews it.
   * Left out, the watchdog renews the lock until it is released or the process dies.
   */
  readonly leaseTime?: number | undefined;
  /** Ends the wait: the call rejects with the signal's reason. It never breaks a hold. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What a loss of the lock during the work does to its result. `'report'`: nothing; `handle.signal`, the `lost` event
   * and the log tell. `'throw'`: a value turns into a `LockLostError` that carries it as `result`. An error of the work
   * always stays as it is.
   *
   * @default 'report'
   */
  readonly onLost?: 'report' | 'throw' | undefined;
  /**
   * Strict first come, first served over all processes: the lock never passes from one caller of this process to the
   * next while callers of other processes, who asked earlier, wait. Otherwise a process that has the lock may serve up
   * to 64 more callers of its own, for at most 50 ms, which is many times faster. Say it in all calls of a key.
   *
   * @default false
   */
  readonly fair?: boolean | undefined;
  /**
   * Tries again by itself, with pauses, instead of standing in the queue: until it has the lock, `maxAttempts` tries were
   * made or `waitTime` is over, whichever is first. A pause that would outlast `waitTime` is cut for a last try at its
   * end. Callers in the queue go first, so it may wait longer than they do. When the tries run out, the call fails as
   * it does at the end of `waitTime`; the last try that brought an answer or a failure decides which error it is. Waiting
   * for another branch of the own scope is not polled. Needs a `waitTime` above 0, and excludes `fair`.
   *
   * @default none: the call stands in the queue and is woken
   */
  readonly retry?: LockRetryOptions | undefined;
}

export interface ResolvedLockOptions {
  readonly waitTime: number;
  readonly leaseTime: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onLost: 'report' | 'throw';
  readonly fair: boolean;
  readonly retry: ResolvedRetry | undefined;
}

export const LOCK_OPTION_NAMES = ['waitTime', 'leaseTime', 'signal', 'onLost', 'fair', 'retry'] as const;

/** The shortest lease that outlives its own safety margin on a quick network, ms. */
export const SHORTEST_LEASE = 10;

/** The longest key, bytes of UTF-8. */
export const LONGEST_KEY = 1024;

const known: ReadonlySet<string> = new Set(LOCK_OPTION_NAMES);

/** The one place where options of a call meet their defaults. */
export function resolveLockOptions(
  where: string,
  options: LockOptions | undefined,
  defaultWaitTime: number,
): ResolvedLockOptions {
  if (options === undefined) {
    return {
      waitTime: defaultWaitTime,
      leaseTime: undefined,
      signal: undefined,
      onLost: 'report',
      fair: false,
      retry: undefined,
    };
  }
  checkNames(where, checkObject(where, options), known);
  const { waitTime, leaseTime, signal, onLost, fair = false, retry } = options;
  if (signal !== undefined && !isAbortSignal(signal)) {
    throw new LockOptionsError(`${where}: signal must be an AbortSignal; got ${shown(signal)}.`);
  }
  if (typeof fair !== 'boolean') {
    throw new LockOptionsError(`${where}: fair must be true or false; got ${shown(fair)}.`);
  }
  const wait =
    waitTime === undefined
      ? defaultWaitTime
      : checkTime(where, 'waitTime', waitTime, { min: 0, infinite: true });
  return {
    waitTime: wait,
    leaseTime:
      leaseTime === undefined ? undefined : checkTime(where, 'leaseTime', leaseTime, { min: SHORTEST_LEASE }),
    signal,
    onLost: onLost === undefined ? 'report' : checkOneOf(where, 'onLost', onLost, ['report', 'throw']),
    fair,
    retry: retry === undefined ? undefined : checkRetry(where, resolveRetry(where, retry), wait, fair),
  };
}

/** Refuses what would make the option useless. */
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

/** B70. Returns the key, so that it can be used where a value is expected. */
export function checkKey(where: string, key: unknown): string {
  if (typeof key !== 'string') {
    throw new LockOptionsError(`${where}: the key must be a string; got ${shown(key)}.`);
  }
  if (key === '') {
    throw new LockOptionsError(`${where}: the key must not be empty.`);
  }
  // A UTF-16 unit takes at most three bytes of UTF-8, so short keys need no count.
  if (key.length * 3 > LONGEST_KEY && Buffer.byteLength(key) > LONGEST_KEY) {
    throw new LockOptionsError(
      `${where}: the key must have at most ${String(LONGEST_KEY)} bytes in UTF-8; got ${String(Buffer.byteLength(key))} bytes. Use a hash of it.`,
    );
  }
  if (/\p{Surrogate}/u.test(key)) {
    throw new LockOptionsError(
      `${where}: the key ${shown(key)} contains half of a surrogate pair, which UTF-8 can't express.`,
    );
  }
  return key;
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
