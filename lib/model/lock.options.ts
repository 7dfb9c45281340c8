import type { LockRetryOptions } from './lock-retry.options.js';

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
   * always stays as it is. `'throw'` also waits for the store's reply to the release, but for a lock that stays with this
   * process, for its next caller or other readers: then only a loss that this process knows of is told.
   *
   * @default 'report'
   */
  readonly onLost?: 'report' | 'throw' | undefined;
  /**
   * Keeps the lock taken until this long after the grant when the work ends sooner: 0 … 2 147 483 647, and no more than
   * `leaseTime`. For jobs that several processes start on their own, whose clocks differ: one that starts a little later
   * must not find the lock free again because the job was quick. Neither the caller nor its process waits for it: the
   * store keeps the lock. A loss of the lock, `forceRelease` and a crash during the work end it sooner. A store that can't
   * keep it for so long refuses the call with a `LockOptionsError`: ZooKeeper, whose sessions set a bound.
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
  /**
   * What kind of lock it is, for events, metrics and traces: 1 … 100 printable characters, the same for all keys of a kind,
   * such as `'checkout'`. Metrics have a series for each, so it must never be made of keys or ids: a process tells 200
   * names apart, and calls all that come after them `other`.
   *
   * @default `Class.method` under `@Locked`, else `default`
   */
  readonly name?: string | undefined;
}

/** A `T` that no value is. The compiler's message shows the property, which says what to do instead. */
type Never<T, Why extends string> = T & Readonly<Record<Why, never>>;

/**
 * All of the lock, or a part of it. No member has a required property: where another one is missing, such as a `key`, the
 * compiler's message would be about the property of the member.
 */
type Sharing =
  | {
      /**
       * `'exclusive'`: nobody else holds the lock. `'shared'`: any number of shared holds at once, as of readers, and no
       * exclusive one. They are served in order, so that a writer that waits is not overtaken by readers.
       *
       * @default 'exclusive'
       */
      readonly mode?: 'exclusive' | 'shared' | undefined;
      readonly limit?: Never<number, 'limit goes without mode: leave one of them out'> | undefined;
    }
  | {
      /**
       * At most this many hold the lock at once, a semaphore: 1 … 1 000 000. All callers of a key have to agree on it; a
       * call that does not fails with a `LockOptionsError`. 1 is an exclusive lock.
       *
       * @default 1
       */
      readonly limit?: number | undefined;
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
      readonly retry?: Never<LockRetryOptions, 'retry goes without fair: leave one of them out'> | undefined;
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

/** How one lock is taken, or each of several. All times are milliseconds. */
export type LockOptions = CommonLockOptions & Sharing & Waiting;
