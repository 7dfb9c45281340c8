import type { StoreConnection } from '../stores/port/lock-store.js';
import type { LockKind } from './lock-kind.js';
import type { LockLostEvent } from './lock.events.js';

export type { StoreConnection } from '../stores/port/lock-store.js';

/** What a hold or a wait of this process is about. */
interface LockUse extends LockKind {
  readonly key: string;
  /** When it began, ms since the epoch on the local clock. */
  readonly since: number;
}

/** A lock that this process holds: what `LockService.held()` lists. Of keys that were taken together there is one for each. */
export interface HeldLock extends LockUse {
  readonly token: number;
  /** ms since it began. */
  readonly heldFor: number;
  /** ms for which it is surely held yet, unless its lease is renewed; 0 when it is not sure. */
  readonly remaining: number;
  /** ms after which it ends by itself (`leaseTime`); undefined if the watchdog renews it. */
  readonly leaseTime: number | undefined;
  /** Why its last renewal failed, if none has succeeded since. */
  readonly renewalError: Error | undefined;
  /** Whether it is held in this process only, because the store could not be reached (`onUnavailable: 'local'`). */
  readonly degraded: boolean;
  /**
   * Where the code called `acquire()` or `tryAcquire()`, such as `at Orders.ship (/app/orders.js:12:30)`. Undefined for other
   * holds, with `NODE_ENV=production`, with `warnHeldAfter: false`, and for calls beyond about 1 000 a second.
   */
  readonly callSite: string | undefined;
}

/** A call of this process that waits for a lock: what `LockService.waiting()` lists. Of keys that are taken together, the one that it waits for. */
export interface WaitingCall extends LockUse {
  /** ms since the call. */
  readonly waitedFor: number;
  /** How long it is ready to wait, ms. */
  readonly waitTime: number;
}

/** A hold of this process that ended before it was released: what `LockService.lost()` lists. */
export type LostLock = Omit<LockLostEvent, 'type'>;

/** Whether the store can be asked, as far as this process knows. */
export interface StoreStatus {
  /** What kind of store it is, such as `Redis`, and what is known of it, such as its version. */
  readonly name: string;
  readonly description: string | undefined;
  /** Whether it answered when it was asked last; undefined when it has not been asked yet. */
  readonly reachable: boolean | undefined;
  /** Since when that is so, ms since the epoch on the local clock. */
  readonly since: number | undefined;
  /**
   * Since when calls and probes have failed because of the store, ms since the epoch on the local clock, though it may
   * answer what only reads: no lock has been granted since. Undefined if locks are granted, or none was asked for.
   */
  readonly failingSince: number | undefined;
  /** Why it did not answer, or grants no locks. */
  readonly error: Error | undefined;
  /** What to do about it, in a sentence; undefined if the error says so, or nothing is known. */
  readonly remedy: string | undefined;
  /** Its connections, if it tells of them. */
  readonly connections: readonly StoreConnection[] | undefined;
}

/** How this process and its locks are: what `LockService.status()` tells. */
export interface LockStatus {
  /** The `name` of the module instance, if it has one. */
  readonly instance: string | undefined;
  /** Of this module instance in this process; owners of its locks start with it. */
  readonly clientId: string;
  readonly store: StoreStatus;
  /** Whether locks are taken in this process only, because the store can't be reached (`onUnavailable: 'local'`). */
  readonly degraded: boolean;
  /** Whether calls are refused, since the application has shut down. */
  readonly closing: boolean;
  /** How many locks this process holds. */
  readonly holds: number;
  /** ms since the longest of these holds began; 0 if there is none. */
  readonly longestHold: number;
  /** How many of these holds are older than `warnHeldAfter`. */
  readonly longHolds: number;
  /** How many calls wait. */
  readonly waiters: number;
  /** ms since the first of these calls; 0 if there is none. */
  readonly longestWait: number;
  /** How many leases could not be renewed when it was tried last. */
  readonly renewalsFailing: number;
  /** Lease of what the watchdog renews, ms. */
  readonly watchdogTimeout: number;
  /** ms that are left of the lease with the least left, of those that are renewed; undefined if there is none. */
  readonly leastRemaining: number | undefined;
  /** How many holds were lost in the last five minutes. */
  readonly recentLosses: number;
}
