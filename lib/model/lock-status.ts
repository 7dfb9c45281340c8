import type { StoreConnection } from './store.js';
import type { LockKind } from './lock-kind.js';
import type { LockLostEvent } from './lock.events.js';

export type { StoreConnection } from './store.js';

/** A hold or a wait of this process. */
interface LockUse extends LockKind {
  readonly key: string;
  /** When it began, ms since the epoch on the local clock. */
  readonly since: number;
}

/** A lock that this process holds, from `LockAdmin.held()`. Keys that were acquired together are listed one by one. */
export interface HeldLock extends LockUse {
  readonly token: number;
  /** ms since the hold began. */
  readonly heldFor: number;
  /** ms for which the lock is certainly held without a renewal; 0 if that is not certain. */
  readonly remaining: number;
  /** The option `leaseTime`, ms; undefined if the watchdog renews the lease. */
  readonly leaseTime: number | undefined;
  /** The error of the last renewal, if it failed. */
  readonly renewalError: Error | undefined;
  /** Whether the lock is held in this process only, because the store was unreachable (`onUnavailable: 'local'`). */
  readonly local: boolean;
  /**
   * Where the code called `acquire()` or `tryAcquire()`, such as `at Orders.ship (/app/orders.js:12:30)`. Undefined for
   * other holds, with `NODE_ENV=production`, with `warnHeldAfter: false`, and for calls beyond about 1 000 a second.
   */
  readonly callSite: string | undefined;
  /** Whether the hold is older than `warnHeldAfter`. Always false for the lock of a leader. */
  readonly isLong: boolean;
}

/** A call of this process that waits for a lock, from `LockAdmin.waiting()`. Of several keys, the one it waits for now. */
export interface WaitingCall extends LockUse {
  /** ms since the call. */
  readonly waitedFor: number;
  /** The `waitTime` of the call, ms. */
  readonly waitTime: number;
}

/** A hold of this process that ended before it was released, from `LockAdmin.lost()`. */
export type LostLock = Omit<LockLostEvent, 'type'>;

/** The state of the store, as far as this process knows. */
export interface StoreStatus {
  /** The kind of store, such as `Redis`; `description` has details, such as its version. */
  readonly name: string;
  readonly description: string | undefined;
  /**
   * Whether the last request got a reply, and enough connections are open: one, or to a majority of the servers of a quorum.
   * Undefined before the first request.
   */
  readonly reachable: boolean | undefined;
  /** When `reachable` last changed, ms since the epoch on the local clock. */
  readonly since: number | undefined;
  /**
   * Since when calls and probes have failed because of the store, ms since the epoch on the local clock. It may still
   * reply to reads, but has granted no lock since. Undefined if locks are granted or none was requested.
   */
  readonly failingSince: number | undefined;
  /** Why the store does not reply, or grants no locks. */
  readonly error: Error | undefined;
  /** A remedy, in a sentence; undefined if the error contains one, or none is known. */
  readonly remedy: string | undefined;
  /** The store's connections, if it reports them. */
  readonly connections: readonly StoreConnection[] | undefined;
}

/** The state of this process and its locks, from `LockAdmin.status()`. */
export interface LockStatus {
  /** The `name` of the module instance, if it has one. */
  readonly instance: string | undefined;
  /** The client id of this module instance in this process; the owners of its locks start with it. */
  readonly clientId: string;
  readonly store: StoreStatus;
  /** Whether locks are acquired in this process only, because the store is unreachable (`onUnavailable: 'local'`). */
  readonly local: boolean;
  /** Whether calls are rejected because the application has shut down. */
  readonly closing: boolean;
  /** The number of locks that this process holds. */
  readonly holds: number;
  /** ms since the longest of these holds began; 0 if there is none. */
  readonly longestHold: number;
  /** The number of these holds that are older than `warnHeldAfter`. */
  readonly longHolds: number;
  /** The number of waiting calls. */
  readonly waiters: number;
  /** ms since the first of these calls, without candidates of elections; 0 if there is none. */
  readonly longestWait: number;
  /** The number of leases whose last renewal failed. */
  readonly renewalsFailing: number;
  /** The lease of locks that the watchdog renews, ms. */
  readonly watchdogTimeout: number;
  /** The shortest remaining lease among those that the watchdog renews, ms; undefined if there is none. */
  readonly leastRemaining: number | undefined;
  /** The number of holds lost in the last five minutes. */
  readonly recentLosses: number;
}
