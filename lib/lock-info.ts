/** What `LockService.inspect` tells of a held lock. */
export interface LockInfo {
  readonly key: string;
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
  /** How many callers wait for the lock, over all processes. Other processes' counts may be a second old. */
  readonly waiting: number;
}
