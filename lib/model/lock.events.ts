import type { LockKind } from './lock-kind.js';
import type { LockLostReason, LockUnavailableError } from './lock.errors.js';
import type { LockStoreError } from '../stores/port/lock-store.js';

/** What happened to a lock, or to the store, in order, to whoever subscribes to `LockService.events`. Carries no secrets. */
export type LockEvent =
  | LockGrantedEvent
  | LockQueuedEvent
  | LockTimeoutEvent
  | LockSkippedEvent
  | LockAbortedEvent
  | LockClosedEvent
  | LockQueueFullEvent
  | LockRenewedEvent
  | LockRenewalFailedEvent
  | LockLostEvent
  | LockReleasedEvent
  | LockBrokenEvent
  | LockUnavailableEvent
  | StoreUnavailableEvent
  | StoreAvailableEvent
  | LockDegradedEvent;

interface LockEventBase extends LockKind {
  readonly key: string;
  /** ms since the epoch, local clock. */
  readonly at: number;
}

/** A hold began. */
export interface LockGrantedEvent extends LockEventBase {
  readonly type: 'granted';
  readonly token: number;
  /** ms from the call to the grant. */
  readonly waitedFor: number;
}

/** A call found the lock held and waits for it. */
export interface LockQueuedEvent extends LockEventBase {
  readonly type: 'queued';
  /** ms left of the holder's lease, if the store told. */
  readonly holderLeaseLeft: number | undefined;
  /** Whether that is only an upper bound, as it is for other processes' leases in etcd and ZooKeeper. */
  readonly holderLeaseIsBound: boolean;
}

/** A call gave up: the lock was held by others until its `waitTime` ended, or its tries ran out. */
export interface LockTimeoutEvent extends LockEventBase {
  readonly type: 'timeout';
  readonly waitedFor: number;
}

/**
 * A call did without the lock, as it was told to (`tryAcquire`, `onBusy`): others held it until its `waitTime` ended, or
 * its tries ran out.
 */
export interface LockSkippedEvent extends LockEventBase {
  readonly type: 'skipped';
  readonly waitedFor: number;
}

/** A call ended by its `signal`. Of several keys, `key` is the first. */
export interface LockAbortedEvent extends LockEventBase {
  readonly type: 'aborted';
  readonly waitedFor: number;
}

/** A call was refused, or ended, since the application shuts down. Of several keys, `key` is the first. */
export interface LockClosedEvent extends LockEventBase {
  readonly type: 'closed';
  readonly waitedFor: number;
}

/** A call was refused: so many callers of this process waited for the lock already (`maxWaiting`). */
export interface LockQueueFullEvent extends LockEventBase {
  readonly type: 'queue-full';
  /** How many waited. */
  readonly waiting: number;
  readonly maxWaiting: number;
}

/**
 * A lease was renewed: by the watchdog, with the claim of a pushed grant, or with more tokens for those in line. Readers of a
 * process may share a lease: there is one event for each of them.
 */
export interface LockRenewedEvent extends LockEventBase {
  readonly type: 'renewed';
  readonly token: number;
  /** ms for which the lock is surely held from now on. */
  readonly remaining: number;
}

/** A renewal failed; it is tried again until `remaining` is over. One event for each hold, like `renewed`. */
export interface LockRenewalFailedEvent extends LockEventBase {
  readonly type: 'renewal-failed';
  readonly token: number;
  readonly remaining: number;
  readonly error: Error;
}

/** A hold ended before it was released. */
export interface LockLostEvent extends LockEventBase {
  readonly type: 'lost';
  readonly token: number;
  readonly reason: LockLostReason;
  /** ms from the grant to the loss. */
  readonly heldFor: number;
}

/** A hold was given back. */
export interface LockReleasedEvent extends LockEventBase {
  readonly type: 'released';
  readonly token: number;
  /** ms from the grant to the release. */
  readonly heldFor: number;
}

/**
 * This process broke a lock, whoever held it (`forceRelease`, or the page). What its holders hear is `lost`. It is about
 * the key: `name`, `mode` and `limit` are those of a call that says nothing.
 */
export interface LockBrokenEvent extends LockEventBase {
  readonly type: 'broken';
  /** Who had it broken, by the word of whoever called. */
  readonly by: string | undefined;
}

/** A call failed because the store could not be reached, or refused to write. */
export interface LockUnavailableEvent extends LockEventBase {
  readonly type: 'unavailable';
  readonly error: LockUnavailableError;
}

/**
 * Calls wait, and the store has not answered their requests for 1.5 seconds, or has rejected them. Emitted once until it is
 * {@link StoreAvailableEvent available} again. It is about no single key; the calls go on waiting.
 */
export interface StoreUnavailableEvent {
  readonly type: 'unavailable';
  readonly key?: undefined;
  /** ms since the epoch, local clock. */
  readonly at: number;
  readonly error: LockUnavailableError;
}

/** The store answers again after {@link StoreUnavailableEvent}. It is about no single key. */
export interface StoreAvailableEvent {
  readonly type: 'available';
  readonly key?: undefined;
  /** ms since the epoch, local clock. */
  readonly at: number;
}

/**
 * With `onUnavailable: 'local'`: locks are taken in this process only from now on, or in the store again. It is about no
 * single key.
 */
export interface LockDegradedEvent {
  readonly type: 'degraded';
  readonly key?: undefined;
  /** ms since the epoch, local clock. */
  readonly at: number;
  /** Whether locks are taken in this process only. */
  readonly local: boolean;
  /** Why the store can't be reached; undefined when it can be again. */
  readonly error?: LockStoreError | undefined;
}
