import type { LockKind } from './lock-kind.js';
import type { LockLostReason, LockUnavailableError } from './lock.errors.js';
import type { LockStoreError } from './store.js';

/** An event of a lock or of the store, in order, from `LockService.events`. Contains no secrets. */
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
  | LockLocalEvent;

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
  /** Remaining lease of the holder, ms, if the store reported it. */
  readonly holderLeaseLeft: number | undefined;
  /** Whether `holderLeaseLeft` is only an upper bound, as for other processes' leases in etcd and ZooKeeper. */
  readonly holderLeaseIsBound: boolean;
}

/** A call ended without acquiring the lock. */
interface EndedCallEvent extends LockEventBase {
  /** ms since the call. */
  readonly waitedFor: number;
}

/** A call timed out: the lock was still held when its `waitTime` ended or its attempts ran out. */
export interface LockTimeoutEvent extends EndedCallEvent {
  readonly type: 'timeout';
}

/**
 * A call was skipped (`tryAcquire`, `onBusy`): the lock was still held when its `waitTime` ended or its attempts ran out.
 */
export interface LockSkippedEvent extends EndedCallEvent {
  readonly type: 'skipped';
}

/** The `signal` of a call ended it. Of several keys, `key` is the first. */
export interface LockAbortedEvent extends EndedCallEvent {
  readonly type: 'aborted';
}

/** A call was rejected or ended because the application shuts down. Of several keys, `key` is the first. */
export interface LockClosedEvent extends EndedCallEvent {
  readonly type: 'closed';
}

/** A call was rejected because `maxWaiting` callers of this process were waiting for the lock already. */
export interface LockQueueFullEvent extends LockEventBase {
  readonly type: 'queue-full';
  /** The number of waiting callers. */
  readonly waiting: number;
  readonly maxWaiting: number;
}

/**
 * A lease was renewed: by the watchdog, by the claim of a pushed grant, or together with tokens for further waiters.
 * Readers of one process may share a lease; each of them has its own event.
 */
export interface LockRenewedEvent extends LockEventBase {
  readonly type: 'renewed';
  readonly token: number;
  /** ms for which the lock is certainly held from now on. */
  readonly remaining: number;
}

/** A renewal failed; it is retried for `remaining` ms. One event for each hold, like `renewed`. */
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
  /** ms from the grant until the loss was noticed. */
  readonly heldFor: number;
  /** Whether only the store's reply to the release showed the loss. The hold's `released` event has come before. */
  readonly afterRelease: boolean;
}

/** A hold was released. */
export interface LockReleasedEvent extends LockEventBase {
  readonly type: 'released';
  readonly token: number;
  /** ms from the grant to the release. */
  readonly heldFor: number;
}

/**
 * This process broke a lock (`forceRelease`, `breakHold` or the dashboard). Its holders emit `lost`. `operation`,
 * `mode` and `limit` have their defaults, as the event does not belong to a call.
 */
export interface LockBrokenEvent extends LockEventBase {
  readonly type: 'broken';
  /** The option `by`: the person who broke the lock. */
  readonly by: string | undefined;
}

/** A call failed because the store was unreachable or refused to write. */
export interface LockUnavailableEvent extends LockEventBase {
  readonly type: 'unavailable';
  readonly error: LockUnavailableError;
}

/** An event of the store, without a key. */
interface StoreEventBase {
  readonly key?: undefined;
  /** ms since the epoch, local clock. */
  readonly at: number;
}

/**
 * The store has not replied to waiting calls for 1.5 seconds, or has rejected their requests. Emitted once until it is
 * {@link StoreAvailableEvent available} again. The calls keep waiting.
 */
export interface StoreUnavailableEvent extends StoreEventBase {
  readonly type: 'unavailable';
  readonly error: LockUnavailableError;
}

/** The store replies again after {@link StoreUnavailableEvent}. */
export interface StoreAvailableEvent extends StoreEventBase {
  readonly type: 'available';
}

/** With `onUnavailable: 'local'`: from now on locks are acquired in this process only, or in the store again. */
export interface LockLocalEvent extends StoreEventBase {
  readonly type: 'local';
  /** Whether locks are acquired in this process only. */
  readonly local: boolean;
  /** Why the store is unreachable; undefined when it is reachable again. */
  readonly error?: LockStoreError | undefined;
}
