import type { LockClock, MonotonicMs, WallClockMs } from '../../common/clock.js';
import {
  LockStoreError,
  type ListKeysRequest,
  type NamedHold,
  type StoreConnection,
} from '../../model/store.js';

export {
  LockStoreError,
  type ListKeysRequest,
  type NamedHold,
  type StoreConnection,
} from '../../model/store.js';
export type { LockClock, LockTimers, MonotonicMs, WallClockMs } from '../../common/clock.js';

/**
 * The port between the engine and the system that keeps the locks. It deals with owners, leases and grants;
 * connections, scripts and retries of one kind of store stay behind it. To keep locks elsewhere, implement it and pass
 * the object as `store` to `DistributedLockModule.forRoot`.
 *
 * The engine relies on this:
 * - every request is idempotent per owner: repeating it has no further effect;
 * - a grant lasts `lease` milliseconds of the store's own clock and then expires;
 * - waiters are granted the lock in the order in which they were first queued, several at once where `limit` allows it;
 *   one whose `permits` don't fit yet keeps those behind it waiting;
 * - fencing tokens of a key only grow, whatever happens in between.
 */
export interface LockStore {
  /** Short name for log lines, such as `redis 127.0.0.1:6379`. Contains no secrets. */
  readonly name: string;

  /** Where the locks are in the store, for display: such as `prefix "lock:"`. Contains no secrets. */
  readonly place?: string | undefined;

  /**
   * The clock by which the engine measures leases and waits of this store; for tests that control time. Defaults to the
   * clock of the process.
   */
  readonly clock?: LockClock | undefined;

  /** Opens a session for one client. Called once per module instance; the module closes only the sessions that it opened. */
  open(client: LockStoreClient): LockStoreSession;
}

/** The engine as a session sees it. */
export interface LockStoreClient {
  /** Unique to this session, without a colon. Every owner of the session starts with it. */
  readonly id: string;
  /** The lease of locks without a `leaseTime`, ms. Requests should fail well before a third of it. */
  readonly watchdogTimeout: number;
  /** The process's monotonic clock, in ms. */
  now(): MonotonicMs;
  /** Delivers a grant to a queued owner, outside of a reply to its request. */
  granted(owner: OwnerId, grant: PushedGrant): void;
  /**
   * Reports, before the reply to `acquire`, that other owners hold the lock or are queued before this one. The rest of
   * the request may then take longer.
   *
   * @param holderLeaseLeft ms left of the holder's lease, if known
   */
  heldByOthers(owner: OwnerId, holderLeaseLeft: number | undefined): void;
  /**
   * Whether a caller still waits under this owner. If not, a session that acquires by several requests replies
   * `cancelled` instead of sending the next one.
   */
  isWanted(owner: OwnerId): boolean;
  /** Reports that a hold was broken by force. */
  broken(owner: OwnerId): void;
  /** Makes every waiter of this session repeat its request, because messages may have been missed. */
  pollNow(): void;
  /**
   * Reports that the store is reachable again and may have lost data. The engine renews every hold at once, so that a
   * hold which the store has lost is reported now rather than at its next renewal, and waiters repeat their requests.
   *
   * @param concerns which keys are affected; all if omitted
   */
  reconnected(concerns?: (key: string) => boolean): void;
  /**
   * Reports that from now on locks are acquired in this process only, and why; or, with `false`, that they are acquired
   * in the store again. For stores with a fallback.
   */
  locksLocally(isLocal: boolean, cause?: LockStoreError): void;
  /**
   * For a client that grants locks by itself while the store is unreachable (`onUnavailable: 'local'`): the last token of
   * its own, 0 if there is none. A store without {@link LockStoreSession.raiseTokens} gives later holds larger tokens, and
   * at least the time in µs, from which such clients count.
   */
  lastLocalToken?(): number;
  /** Writes a line to the operator's log. */
  warn(message: string): void;
}

/**
 * A notice board on which processes publish short texts for dashboards that show the locks of all processes. No lock
 * depends on it. Each method rejects with a `LockStoreError`.
 */
export interface LockBoard {
  /** Informs all processes that there is a viewer for the next `ttl` ms. */
  watch(ttl: number): Promise<void>;
  /** Whether there is a viewer. Writes nothing. */
  isWatched(): Promise<boolean>;
  /** Publishes a text under a name, replacing the previous one; it disappears after `ttl` ms. */
  publish(name: string, text: string, ttl: number): Promise<void>;
  /** All currently published texts. */
  read(): Promise<readonly string[]>;
}

export interface LockStoreSession {
  /** Details of the store for operators, such as its version, for the log line at start; known after `start`. */
  readonly description?: string | undefined;
  /** The connections of this session, for display. An open one worked when it was last used. */
  connections?(): readonly StoreConnection[];
  /** Whether too few connections are open for any request to succeed. If omitted: whether all are closed. */
  readonly isCutOff?: boolean | undefined;
  /**
   * The longest time, ms, for which the store keeps a lock without a renewal, whatever lease was requested. The engine
   * relies on no more than that and renews longer leases until they end. May change while there is no connection.
   * Unlimited if omitted.
   */
  readonly longestUnrenewed?: number | undefined;
  /**
   * Why the store can't keep a lock for this many ms after its process is gone (`holdAtLeast`), and what to change: the
   * end of a sentence without a full stop, for display. Undefined if it can, or does not know yet. Unlimited if omitted.
   */
  whyTooLong?(lease: number): string | undefined;
  /**
   * Why the store can't carry out calls with these options, and what to change: a sentence, for display. Such a call is
   * refused before anything is sent. Undefined if it can; every call is possible if omitted.
   *
   * @param call `fair`: strict order across all processes; `limit`: see {@link AcquireRequest.limit}
   */
  whyUnsupported?(call: { readonly fair: boolean; readonly limit: number }): string | undefined;
  /**
   * Whether `leaseLeft` and `holderLeaseLeft` of other processes' leases are only upper bounds, because the store does
   * not store when they end. Exact if omitted.
   */
  readonly remainingIsBound?: boolean | undefined;
  /** Connects. Rejects with a `LockStoreError` if the store is not reachable yet; the session keeps trying. */
  start(): Promise<void>;
  /** Requests a lock once. With `wait`, an owner that does not acquire it stays in the queue. */
  acquire(request: AcquireRequest): PromiseLike<AcquireReply>;
  /**
   * Removes an owner: its lock passes to the next waiter or becomes free, and it leaves the queue. Callers continue
   * without the reply, so later requests about the key must be carried out after this one.
   */
  release(request: OwnerRequest): PromiseLike<ReleaseReply>;
  /**
   * Resolves when all earlier requests about the key have been handed to the connection; undefined if they have been. A
   * request about another key must not delay it, unless all requests are sent together or in order. Omit it if every
   * request is sent when it is made.
   */
  whenSent?(key: string): Promise<unknown> | undefined;
  /**
   * Renews many holds; one reply for each, in order: an error for a hold whose renewal failed on its own. Never creates
   * and never shortens a lease.
   */
  renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]>;
  /**
   * Renews one hold and reserves fencing tokens for the holds that follow it in this process without a request. A
   * `lease` of 0 leaves the lease unchanged. If omitted, the store receives a request for every hold.
   */
  reserve?(request: ReserveRequest): PromiseLike<ReserveReply>;
  /**
   * Informs a member of a quorum of the token that the quorum gave a hold, and that later tokens must be larger than
   * `floor`. The latter applies even if the owner does not hold the lock. Without this method, a member of a quorum
   * can't guarantee growing tokens while the members' clocks differ.
   */
  raise?(request: RaiseRequest): Promise<void>;
  /**
   * Makes later tokens larger than `floor`: of these keys at least, and of all keys where they have one counter. Without
   * this method, tokens may go back after an outage with `onUnavailable: 'local'`.
   */
  raiseTokens?(floor: number, keys: readonly string[]): Promise<void>;
  /** The holders of a key and its waiters; null when it is free. */
  inspect(key: string): Promise<StoredLock | null>;
  /**
   * Breaks one hold, or all holds of the key if none is named. In one step: a hold that begins meanwhile stays. The other
   * clients are notified by {@link LockStoreClient.broken}.
   */
  breakHold(key: string, hold?: NamedHold): Promise<BreakReply>;
  /**
   * Some of the held keys, and where to continue. A key may be listed more than once; one that is acquired or released
   * meanwhile may be missing. Cursors come from users: reject any that is not this store's with an `InvalidCursorError`
   * before anything is sent. Omit it if the store can't list keys.
   */
  listKeys?(request: ListKeysRequest): Promise<ListedKeys>;
  /** Where processes publish their state for display; omitted or undefined if there is no board. */
  readonly board?: LockBoard | undefined;
  /**
   * Checks everything that grants depend on, such as permissions, a schema or the base of the tokens, and writes
   * nothing. Rejects with a `LockStoreError` that names what is missing and how to repair it, or that the store is
   * unreachable. If omitted, health checks inspect a key instead.
   */
  verify?(): Promise<void>;
  /** Ends the session and everything it opened. */
  close(): Promise<void>;
}

/** Identifies one acquisition to the store, `<client id>:<number>`; used once. */
export type OwnerId = string & { readonly __brand: 'owner' };

export interface ListedKeys {
  readonly keys: readonly string[];
  /** Undefined at the end of the list. */
  readonly cursor: string | undefined;
}

export interface AcquireRequest {
  readonly key: string;
  readonly owner: OwnerId;
  /** Lease of a grant in the reply, ms. */
  readonly lease: number;
  /**
   * Whether the lease is renewed until its hold ends, because the user set no `leaseTime`. A store may let such a hold
   * outlive a crash of its process by up to half of the lease; a lease that is not renewed ends exactly. Not renewed if
   * omitted.
   */
  readonly isRenewed?: boolean;
  /** Lease of a grant that is pushed later, ms: short, until the owner claims it by a renewal. */
  readonly claimLease: number;
  readonly wait: boolean;
  /** How many callers wait under this owner; for `inspect`. */
  readonly callers: number;
  /** The most consecutive tokens to grant, for holds that follow in this process: 1 to 127. */
  readonly tokens: number;
  /** Whether the engine expects to have to wait; a store may use this to save a request. */
  readonly contended: boolean;
  /**
   * How many can hold the lock at once: 1 for an exclusive lock; `Infinity` for readers, which only an exclusive hold
   * excludes; else the number of permits of a semaphore. All callers of a key use the same limit, where 1 and
   * `Infinity` go together; any other gets the reply `conflict`.
   */
  readonly limit: number;
  /**
   * How many permits of a semaphore the owner requests, all or none: from 1 to `limit`; 1 for other locks. The sum of the
   * permits of all holders never exceeds `limit`. Waiters are granted the lock in the order in which they were queued: one
   * whose permits are not free yet keeps those behind it waiting, as well as requests without a queue position.
   */
  readonly permits: number;
  /** The caller's label, for inspection. */
  readonly label: string | undefined;
}

export interface OwnerRequest {
  readonly key: string;
  readonly owner: OwnerId;
  /** Whether the engine knows of a grant. Unless `inDoubt`, the owner is in no queue then. */
  readonly wasGranted: boolean;
  /** Whether an earlier request of this owner may still be in flight, and has to be rejected when it arrives. */
  readonly inDoubt: boolean;
}

export interface RenewRequest {
  readonly key: string;
  readonly owner: OwnerId;
  readonly lease: number;
  /** See {@link AcquireRequest.isRenewed}. */
  readonly isRenewed?: boolean;
  /**
   * Whether to end the lease at this time even if it would last longer: the hold has ended, but the lock stays held
   * until then.
   */
  readonly exactly?: boolean;
}

export interface ReserveRequest extends RenewRequest {
  /** How many tokens to reserve: 1 to 127. */
  readonly tokens: number;
}

export interface RaiseRequest {
  readonly key: string;
  readonly owner: OwnerId;
  /** The token that this member granted: a hold with another one, which the owner was granted later, stays as it is. */
  readonly granted: number;
  readonly token: number;
  readonly since: WallClockMs;
  /** The last token that the hold, and those that follow it without a request, may use. */
  readonly floor: number;
}

/** A grant, and what the holds that follow it in the same process need to know. */
export interface Grant {
  readonly token: number;
  readonly since: WallClockMs;
  /** How many consecutive tokens were granted, starting with `token`; 1 if omitted. */
  readonly tokens?: number;
  /** Whether waiters of other sessions are known; false if omitted. */
  readonly othersWait?: boolean;
  /** Whether the grant is valid in this process only; false if omitted. */
  readonly local?: boolean;
  /**
   * How long, ms, the lock may pass from hold to hold in this process while others wait; 50 if omitted. At most as many
   * hold it as there are `tokens`.
   */
  readonly turn?: number;
}

export type AcquireReply =
  | ({ readonly outcome: 'granted' } & Grant)
  | { readonly outcome: 'queued' | 'busy'; readonly holderLeaseLeft: number | undefined }
  | { readonly outcome: 'cancelled' }
  /** The holders or waiters of the key have another limit; the owner is not queued. */
  | { readonly outcome: 'conflict'; readonly limit: number };

export interface PushedGrant extends Grant {
  /** When the lease began, or earlier, on the local clock. */
  readonly startedAt: MonotonicMs;
  readonly lease: number;
  /**
   * About when the lock passed to the owner, which may be long after `startedAt`: since then it keeps other waiters
   * from the lock. Defaults to `startedAt`.
   */
  readonly turnFrom?: MonotonicMs;
}

/** `free` if the lock is not held; `held-by-others` if it is held, but not by that hold. */
export type BreakReply = 'broken' | 'free' | 'held-by-others';

export type ReleaseReply = 'released' | 'not-held';
export type RenewReply = 'renewed' | 'gone' | 'taken';
export type ReserveReply =
  | { readonly outcome: 'reserved'; readonly token: number; readonly othersWait: boolean }
  | { readonly outcome: 'gone' | 'taken' };

/** A held lock as the store knows it. */
export interface StoredLock {
  /** The limit of its holders: see {@link AcquireRequest.limit}. */
  readonly limit: number;
  /** Oldest first. */
  readonly holders: readonly StoredHold[];
  /** In the order in which they will be served. */
  readonly waiters: readonly StoredWaiter[];
}

export interface StoredHold {
  readonly owner: string;
  readonly token: number | undefined;
  readonly since: WallClockMs | undefined;
  /** ms left of the lease; undefined when it has no end. */
  readonly leaseLeft: number | undefined;
  /** See {@link AcquireRequest.permits}. */
  readonly permits: number;
  readonly label: string | undefined;
}

export interface StoredWaiter {
  readonly owner: string;
  /** How many callers wait under this owner. */
  readonly callers: number;
  readonly limit: number;
  /** See {@link AcquireRequest.permits}. */
  readonly permits: number;
  readonly label: string | undefined;
}

/** The cursor of a listing is not one that this store returns. Thrown before anything is sent. */
export class InvalidCursorError extends LockStoreError {
  constructor() {
    super('the cursor is not one that this store returns', { inDoubt: false, retryable: false });
    this.name = 'InvalidCursorError';
  }
}
