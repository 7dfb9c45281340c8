/** The process that holds a lock or waits for it. */
export interface LockProcess {
  /** Host name of the machine or container: letters, digits, `.`, `_` and `-`, up to 63 characters. */
  readonly host: string;
  readonly pid: number;
}

/** One hold of a lock, as the store knows it. */
export interface LockHolder {
  /** `<client id>:<number>`; the client id is the same for all locks of one module instance of one process. */
  readonly owner: string;
  /** Fencing token of the hold; undefined if other software holds the lock. */
  readonly token: number | undefined;
  /** When the hold began, ms since the epoch on the store's clock; undefined like `token`. */
  readonly acquiredAt: number | undefined;
  /** ms until the lease ends unless it is renewed; `Infinity` if it has no end. */
  readonly remaining: number;
  /** When the lease ends, ms since the epoch on the local clock. */
  readonly expiresAt: number;
  /**
   * Whether `remaining` and `expiresAt` are only upper bounds: the lease may end earlier. That is so for holds of other
   * processes in etcd and ZooKeeper, which keep no clock for a lease. A bound says nothing about the last renewal.
   */
  readonly remainingIsBound: boolean;
  /** The option `label`: what the lock is used for. */
  readonly label: string | undefined;
  /** The holder's process; undefined if other software holds the lock. */
  readonly process: LockProcess | undefined;
}

/** Callers of one process that wait for a lock. */
export interface LockWaiter {
  /** The number of waiting callers. Counts of other processes may be a second old. */
  readonly callers: number;
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number;
  readonly label: string | undefined;
  readonly process: LockProcess | undefined;
}

/** A held lock, from `LockAdmin.inspect`. The properties of {@link LockHolder} are those of the oldest hold. */
export interface LockInfo extends LockHolder {
  readonly key: string;
  /** `'exclusive'` if no one else can hold the lock now. */
  readonly mode: 'exclusive' | 'shared';
  /** How many may hold the lock at once: 1, the `limit` of a semaphore, or `Infinity` for readers. */
  readonly limit: number;
  /** All holds, the oldest first. */
  readonly holders: readonly LockHolder[];
  /** The number of waiting callers of all processes. Counts of other processes may be a second old. */
  readonly waiting: number;
  /** The waiters in the order in which they are served. Calls with `retry` are not in the queue. */
  readonly waiters: readonly LockWaiter[];
}

/** Options of `LockAdmin.list`. */
export interface LockListOptions {
  /**
   * Pattern of the keys: `*` matches any characters, `?` a single one; every other character matches itself. At most 1024
   * characters.
   *
   * @default '*'
   */
  readonly match?: string | undefined;
  /** The cursor of the previous page; without it the list starts over. A cursor that this store did not return is rejected. */
  readonly cursor?: string | undefined;
  /**
   * About how many entries of the store to scan, 1 … 1 000: a page may have fewer locks, or none, and still not be the last.
   * The server does nothing else meanwhile, so prefer small values.
   *
   * @default 100
   */
  readonly count?: number | undefined;
}

/** The result of `LockAdmin.list`. */
export interface LockList {
  readonly locks: readonly LockInfo[];
  /** For the next page; undefined on the last page. */
  readonly cursor: string | undefined;
}
