/** The process of a client of this library, as it told when it started. */
export interface LockProcess {
  /** Of its machine or container: letters, digits, `.`, `_` and `-`, up to 63 of them. */
  readonly host: string;
  readonly pid: number;
}

/** One hold of a lock, as the store knows it. */
export interface LockHolder {
  /** `<client id>:<number>`; the client id is the same for all locks of one module instance of one process. */
  readonly owner: string;
  /** Fencing token of the hold; undefined if the lock was taken by other software that has none. */
  readonly token: number | undefined;
  /** When the hold began, ms since the epoch on the store's clock; undefined like `token`. */
  readonly acquiredAt: number | undefined;
  /** ms until the lease ends unless it is renewed; `Infinity` if it has no end. */
  readonly remaining: number;
  /** When that is, ms since the epoch on the local clock. */
  readonly expiresAt: number;
  /**
   * Whether `remaining` and `expiresAt` are only upper bounds: the lease may end earlier. They are for holds of other
   * processes in etcd and ZooKeeper, which keep no clock for a lease. Such a bound says nothing about the last renewal.
   */
  readonly remainingIsBound: boolean;
  /** What for, if the caller said so (`label`). */
  readonly label: string | undefined;
  /** Whom to ask; undefined if the lock was taken by other software. */
  readonly process: LockProcess | undefined;
}

/** Callers of one process that wait for a lock. */
export interface LockWaiter {
  /** How many callers wait there. Other processes' counts may be a second old. */
  readonly callers: number;
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number;
  readonly label: string | undefined;
  readonly process: LockProcess | undefined;
}

/** What `LockService.inspect` tells of a held lock. What it has in common with {@link LockHolder} is that of the oldest hold. */
export interface LockInfo extends LockHolder {
  readonly key: string;
  /** `'exclusive'` if nobody else can hold the lock now. */
  readonly mode: 'exclusive' | 'shared';
  /** How many may hold the lock at once: 1, the `limit` of a semaphore, or `Infinity` for readers. */
  readonly limit: number;
  /** All holds, the oldest first. */
  readonly holders: readonly LockHolder[];
  /** How many callers wait for the lock, over all processes. Other processes' counts may be a second old. */
  readonly waiting: number;
  /** Who they are, in the order in which they are served. Those who poll (`retry`) don't stand in the queue. */
  readonly waiters: readonly LockWaiter[];
}

/** What `LockService.list` takes. */
export interface LockListOptions {
  /**
   * What the keys look like: `*` for any characters, `?` for one; every other character stands for itself. At most 1024
   * characters.
   *
   * @default '*'
   */
  readonly match?: string | undefined;
  /** That of the answer before; left out, it begins anew. One that this store does not return is refused. */
  readonly cursor?: string | undefined;
  /**
   * About how many things of the store to look at, 1 … 1 000: an answer may have fewer locks, or none, and yet not be the
   * last. A server does nothing else meanwhile, so that small ones are kinder to it.
   *
   * @default 100
   */
  readonly count?: number | undefined;
}

/** What `LockService.list` answers. */
export interface LockList {
  readonly locks: readonly LockInfo[];
  /** Where to go on; undefined when that was all. */
  readonly cursor: string | undefined;
}
