import {
  checkBound,
  checkCount,
  checkNames,
  checkObject,
  checkOneOf,
  checkTime,
  shown,
} from './option-checks.js';
import { LockOptionsError } from './lock.errors.js';
import { resolveRetry, type LockRetryOptions, type ResolvedRetry } from './lock-retry.options.js';

/** What every lock may be taken with. All times are milliseconds. */
interface CommonLockOptions {
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
  /**
   * How many callers of this process may wait for a key: a whole number from 0, or `Infinity`. When so many wait, a
   * further call tries once: it gets a lock that is free, and fails at once with a `LockQueueFullError` if others hold it
   * (`tryAcquire` and `onBusy` of `@Locked` leave that error as it is), or a `LockUnavailableError` if the store could not
   * be asked. With 0 nobody waits. Counted are the callers of this module instance in line for the key, one whose first
   * request is under way included, and those with `retry` after their first try; branches that re-enter a hold are not,
   * and are not refused. Of an array each key counts by itself. Without effect with a `waitTime` of 0.
   *
   * @default the module's `maxWaiting` (`Infinity`)
   * @throws LockQueueFullError when so many wait, and others hold the lock
   */
  readonly maxWaiting?: number | undefined;
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
   * Keeps the lock taken until this long after the grant when the work ends sooner: 0 … 2 147 483 647, and no more than
   * `leaseTime`. For jobs that several processes start on their own, whose clocks differ: one that starts a little later
   * must not find the lock free again because the job was quick. Neither the caller nor its process waits for it: the
   * store keeps the lock. A loss of the lock, `forceRelease` and a crash during the work end it sooner.
   *
   * @default 0
   */
  readonly holdAtLeast?: number | undefined;
  /**
   * What the lock is taken for, for whoever inspects it: 1 … 200 characters. After a hand-over inside of a process (see
   * `fair`), other processes see the label of the hold before.
   *
   * @default none
   */
  readonly label?: string | undefined;
}

/** All of the lock, or a part of it. */
type Sharing =
  | {
      /**
       * `'exclusive'`: nobody else holds the lock. `'shared'`: any number of shared holds at once, as of readers, and no
       * exclusive one. They are served in order, so that a writer that waits is not overtaken by readers.
       *
       * @default 'exclusive'
       */
      readonly mode?: 'exclusive' | 'shared' | undefined;
      readonly limit?: undefined;
    }
  | {
      /**
       * At most this many hold the lock at once, a semaphore: 1 … 1 000 000. All callers of a key have to agree on it; a
       * call that does not fails with a `LockOptionsError`. 1 is an exclusive lock.
       *
       * @default 1
       */
      readonly limit: number;
      readonly mode?: undefined;
    };

/** How a caller waits: in the queue, or by trying again. */
type Waiting =
  | {
      /**
       * Strict first come, first served over all processes: the lock never passes from one caller of this process to the
       * next while callers of other processes, who asked earlier, wait. Otherwise a process that has the lock may serve up
       * to 64 more callers of its own, for at most 50 ms, which is many times faster. Say it in all calls of a key.
       *
       * @default false
       */
      readonly fair?: boolean | undefined;
      readonly retry?: undefined;
    }
  | {
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
      readonly fair?: false | undefined;
    };

/**
 * What to lock: a key, or several that are taken together, all or none (1 … 1 000). A key is a string of 1 … 1 024 bytes
 * in UTF-8. Several are taken in the order of their UTF-16 code units whatever order they come in, and a key that comes
 * twice is taken once, so that callers whose keys overlap don't wait for each other for ever.
 */
export type LockKey = string | readonly string[];

/** How one lock is taken, or each of several. All times are milliseconds. */
export type LockOptions = CommonLockOptions & Sharing & Waiting;

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
] as const;

/** The shortest lease that outlives its own safety margin on a quick network, ms. */
export const SHORTEST_LEASE = 10;

/** The most that may hold a lock at once by `limit`. */
const LARGEST_LIMIT = 1_000_000;

/** The longest label, characters. */
const LONGEST_LABEL = 200;

/** The most keys of one call: a script that takes them keeps Redis from others for a few ms. */
const MOST_KEYS = 1_000;

/** The longest key, bytes of UTF-8. */
export const LONGEST_KEY = 1024;

const known: ReadonlySet<string> = new Set(LOCK_OPTION_NAMES);

/** The one place where options of a call meet their defaults. */
export function resolveLockOptions(
  where: string,
  options: LockOptions | undefined,
  defaultWaitTime: number,
  defaultMaxWaiting = Infinity,
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
    };
  }
  checkNames(where, checkObject(where, options), known);
  const { waitTime, leaseTime, signal, onLost, fair = false, retry, mode, limit, label } = options;
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
  const lease =
    leaseTime === undefined ? undefined : checkTime(where, 'leaseTime', leaseTime, { min: SHORTEST_LEASE });
  return {
    waitTime: wait,
    maxWaiting:
      options.maxWaiting === undefined
        ? defaultMaxWaiting
        : checkBound(where, 'maxWaiting', options.maxWaiting),
    leaseTime: lease,
    signal,
    onLost: onLost === undefined ? 'report' : checkOneOf(where, 'onLost', onLost, ['report', 'throw']),
    fair,
    retry: retry === undefined ? undefined : checkRetry(where, resolveRetry(where, retry), wait, fair),
    limit: checkSharing(where, mode, limit),
    holdAtLeast: checkHoldAtLeast(where, options.holdAtLeast, lease),
    label: label === undefined ? undefined : checkLabel(where, label),
  };
}

/** Answers how many may hold the lock at once. */
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
  if (holdAtLeast === undefined) return 0;
  const atLeast = checkTime(where, 'holdAtLeast', holdAtLeast, { min: 0 });
  if (leaseTime !== undefined && atLeast > leaseTime) {
    throw new LockOptionsError(
      `${where}: holdAtLeast (${String(atLeast)} ms) must not be longer than leaseTime (${String(leaseTime)} ms), ` +
        'after which the lock frees itself. Make leaseTime longer, or leave it out.',
    );
  }
  return atLeast;
}

function checkLabel(where: string, label: unknown): string {
  if (
    typeof label === 'string' &&
    label !== '' &&
    label.length <= LONGEST_LABEL &&
    !/\p{Surrogate}/u.test(label)
  ) {
    return label;
  }
  throw new LockOptionsError(
    `${where}: label must be a string of 1 to ${String(LONGEST_LABEL)} characters; got ${shown(label)}.`,
  );
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

/** Returns the key, so that it can be used where a value is expected. */
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

/** Returns the only key, or all of them in the order in which they are taken. */
export function checkKeys(where: string, key: unknown): LockKey {
  if (!Array.isArray(key)) return checkKey(where, key);
  if (key.length === 0) {
    throw new LockOptionsError(`${where}: the array of keys must not be empty. Give at least one key.`);
  }
  const keys = new Set<string>();
  for (const [index, each] of (key as readonly unknown[]).entries()) {
    keys.add(checkKey(`${where}, key ${String(index + 1)} of the array`, each));
  }
  const [first, ...others] = [...keys].sort();
  if (first === undefined || others.length === 0) return first ?? [];
  if (keys.size > MOST_KEYS) {
    throw new LockOptionsError(
      `${where}: at most ${String(MOST_KEYS)} keys can be taken together; got ${String(keys.size)}. Lock what they have in common.`,
    );
  }
  return [first, ...others];
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
