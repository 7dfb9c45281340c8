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
  /** Fencing token of the hold; undefined if the lock was acquired by other software. */
  readonly token: number | undefined;
  /** When the hold began, ms since the epoch on the store's clock (on etcd, on the holder's); undefined like `token`. */
  readonly acquiredAt: number | undefined;
  /** ms until the lease ends unless it is renewed; `Infinity` if it never ends. */
  readonly remaining: number;
  /** When the lease ends, ms since the epoch on the local clock. */
  readonly expiresAt: number;
  /**
   * Whether `remaining` and `expiresAt` are only upper bounds, as for holds of other processes in etcd and ZooKeeper,
   * which store no end of a lease: it may end earlier. A bound does not show when the lease was last renewed. The
   * servers may keep the lock of a process that died for up to 1.5 times as long.
   */
  readonly remainingIsBound: boolean;
  /** How many permits of a semaphore the hold has; 1 for other locks. */
  readonly permits: number;
  /** The option `label`: what the lock is used for. */
  readonly label: string | undefined;
  /** The holder's process; undefined if the lock was acquired by other software. */
  readonly process: LockProcess | undefined;
}

/** Callers of one process that wait for a lock. */
export interface LockWaiter {
  /** The number of waiting callers. Counts of other processes may be a second old. */
  readonly callers: number;
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number;
  /** How many permits of a semaphore each of them requests (of another process's callers: the first); 1 for other locks. */
  readonly permits: number;
  readonly label: string | undefined;
  readonly process: LockProcess | undefined;
}

/** How the permits of a semaphore are used. */
export interface LockPermits {
  /** The permits of all holds together. */
  readonly held: number;
  /** Waiters come first: a call can find the lock busy although permits are free. */
  readonly free: number;
}

/**
 * A held lock, from `LockAdmin.inspect`. The properties of {@link LockHolder} are those of the oldest hold, except
 * `permits`.
 */
export interface LockInfo extends Omit<LockHolder, 'permits'> {
  readonly key: string;
  /** `'exclusive'` if there can be no second holder. */
  readonly mode: 'exclusive' | 'shared';
  /** How many can hold the lock at once: 1, the `limit` of a semaphore, or `Infinity` for readers. */
  readonly limit: number;
  /** The held and free permits of a semaphore; undefined for other locks. */
  readonly permits: LockPermits | undefined;
  /** All holds, oldest first. */
  readonly holders: readonly LockHolder[];
  /** The number of waiting callers of all processes. Counts of other processes may be a second old. */
  readonly waiting: number;
  /** The waiters in the order in which they will be served. Calls with `retry` are not in the queue. */
  readonly waiters: readonly LockWaiter[];
}

/** Options of `LockAdmin.list`. */
export interface LockListOptions {
  /**
   * Pattern of the keys: `*` matches any characters, `?` a single one; every other character matches itself. At most
   * 1024 characters.
   *
   * @default '*'
   */
  readonly match?: string | undefined;
  /**
   * The cursor of the previous page; without it the list starts over. A cursor that the store can't have returned is
   * rejected.
   */
  readonly cursor?: string | undefined;
  /**
   * About how many entries of the store to scan, 1 … 1 000. A page may have fewer locks, or none, without being the
   * last. The server is blocked during the scan, so prefer small values.
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
