import type { LockClock, MonotonicMs, WallClockMs } from '../../common/clock.js';

export type { LockClock, LockTimers, MonotonicMs, WallClockMs } from '../../common/clock.js';

/**
 * The port between the engine and the system that keeps the locks. It speaks of owners, leases and grants; connections,
 * scripts and retries of one kind of store stay behind it. Implement it to keep locks somewhere else, and pass the object
 * as `store` to `DistributedLockModule.forRoot`.
 *
 * The engine relies on this:
 * - every request is idempotent per owner: the same request twice has the effect of one;
 * - a grant lasts `lease` milliseconds of the store's own clock and then expires;
 * - waiters are granted the lock in the order in which they were first queued, several at once where `limit` allows it;
 * - fencing tokens of a key only grow, whatever happens in between.
 */
export interface LockStore {
  /** Short name for log lines, such as `redis 127.0.0.1:6379`. Contains no secrets. */
  readonly name: string;

  /** Where in the store the locks are, for people: such as `prefix "lock:"`. Contains no secrets. */
  readonly place?: string | undefined;

  /**
   * The clock by which the engine measures leases and waits of this store; for tests that move time. Defaults to the
   * clock of the process.
   */
  readonly clock?: LockClock | undefined;

  /**
   * Opens a session for one client. Called once per module instance; the module closes the sessions that it opened and
   * nothing else.
   */
  open(client: LockStoreClient): LockStoreSession;
}

/** The engine as a session sees it. */
export interface LockStoreClient {
  /** Unique to this session, without a colon. Every owner of the session starts with it. */
  readonly id: string;
  /** The lease of locks without a `leaseTime`, in ms. Requests should fail well before a third of it. */
  readonly watchdogTimeout: number;
  /** The process's monotonic clock, in ms. */
  now(): MonotonicMs;
  /** Delivers a grant to a queued owner that did not ask again. */
  granted(owner: OwnerId, grant: PushedGrant): void;
  /**
   * Reports, before the reply to `acquire`, that others hold the lock or are queued before this owner. The session may then
   * take its time with the rest of the request.
   *
   * @param holderLeaseLeft ms left of the holder's lease, if known
   */
  heldByOthers(owner: OwnerId, holderLeaseLeft: number | undefined): void;
  /**
   * Reports that the session delays an owner's request until it is ready for it, for example until it can receive grants.
   * The engine then does not take the missing reply for an unreachable store.
   */
  heldBack(owner: OwnerId): void;
  /**
   * Reports that a delayed request is about to be sent. Returns whether a caller still waits under that owner: if not, the
   * session replies `cancelled` instead of sending it.
   */
  resumes(owner: OwnerId): boolean;
  /** Reports that a hold was broken by force. */
  broken(owner: OwnerId): void;
  /** Makes every waiter of this session ask again, because messages may have been missed. */
  pollNow(): void;
  /**
   * Reports that the store is reachable again and may have lost data. The engine renews every hold at once, so that a hold
   * which the store has forgotten is reported lost now rather than at its next renewal, and waiters ask again.
   *
   * @param concerns which keys are affected; all if left out
   */
  reconnected(concerns?: (key: string) => boolean): void;
  /**
   * Reports that from now on locks are acquired in this process only, and why; or, with `false`, that they are acquired in
   * the store again. For stores with a fallback.
   */
  locksLocally(isLocal: boolean, cause?: LockStoreError): void;
  /** Writes a line to the operator's log. */
  warn(message: string): void;
}

/** A connection of a store's session. */
export interface StoreConnection {
  /** Its purpose or its peer, such as `commands` or `10.0.0.5:6379`; no secrets. */
  readonly name: string;
  readonly isOpen: boolean;
}

/**
 * A notice board beside the locks, on which processes publish short texts for people who watch the locks of all of them.
 * No lock depends on it. Each method rejects with a `LockStoreError`.
 */
export interface LockBoard {
  /** Tells all processes that somebody watches, for so many ms from now. */
  watch(ttl: number): Promise<void>;
  /** Whether somebody watches. Writes nothing. */
  isWatched(): Promise<boolean>;
  /** Publishes a text under a name, replacing the previous one; it disappears after `ttl` ms. */
  publish(name: string, text: string, ttl: number): Promise<void>;
  /** All texts that are published now. */
  read(): Promise<readonly string[]>;
}

export interface LockStoreSession {
  /** What an operator should know about the store, for the log line at start, such as its version; known after `start`. */
  readonly description?: string | undefined;
  /** The connections of this session, for people. An open one worked when it was last used. */
  connections?(): readonly StoreConnection[];
  /**
   * The longest time, ms, for which the store keeps a lock without a renewal, whatever lease was requested. The engine
   * relies on no more than that and renews longer leases until they end. May change while there is no connection. No bound
   * if left out.
   */
  readonly longestUnrenewed?: number | undefined;
  /**
   * Why the store can't keep a lock for so many ms after its process is gone (`holdAtLeast`), and what to change: the end of
   * a sentence without a full stop, for people. Undefined if it can, or does not know yet. No bound if left out.
   */
  whyTooLong?(lease: number): string | undefined;
  /**
   * Whether `leaseLeft` and `holderLeaseLeft` of other processes' leases are upper bounds only, because the store keeps no
   * clock for them. Exact if left out.
   */
  readonly remainingIsBound?: boolean | undefined;
  /** Connects. Rejects with a `LockStoreError` if the store is not reachable yet; the session keeps trying. */
  start(): Promise<void>;
  /** Asks for a lock once. With `wait`, an owner that does not get it stays in the queue. */
  acquire(request: AcquireRequest): PromiseLike<AcquireReply>;
  /** Withdraws an owner, whatever state it is in. */
  cancel(request: OwnerRequest): Promise<void>;
  /**
   * Passes a held lock to the next waiter, or frees it. Callers go on without the reply, so later requests about the key
   * must be carried out after this one.
   */
  release(request: OwnerRequest): PromiseLike<ReleaseReply>;
  /**
   * Resolves when all requests about the key so far have been handed to the connection; undefined if they have been. A
   * request about another key must not delay it, unless all requests go out together or in order. A store that leaves it
   * out sends each request when it is made.
   */
  whenSent?(key: string): Promise<unknown> | undefined;
  /**
   * Renews many holds; one reply for each, in order: an error for one that could not be renewed where others could.
   * Never creates and never shortens a lease.
   */
  renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]>;
  /**
   * Renews one hold and reserves fencing tokens for the holds that follow it in this process without a request. A `lease`
   * of 0 leaves the lease as it is. A store that leaves it out receives a request for every hold.
   */
  reserve?(request: ReserveRequest): PromiseLike<ReserveReply>;
  /**
   * Tells a member of a quorum which token the members together gave a hold, and that later tokens have to be larger than
   * `floor`. The latter applies also if the owner does not hold the lock. As a member of a quorum, a store that leaves it
   * out can't guarantee growing tokens while the members' clocks differ.
   */
  raise?(request: RaiseRequest): Promise<void>;
  /**
   * Grants all of these locks, which are for one caller, or none. Returns the grants in order, or the index of the first
   * lock that is not available; the engine waits for that one once it holds those before it. Null if that is not known, or
   * locks can't be granted together: the engine then asks for each one separately, as it does where this is left out.
   */
  acquireAll?(requests: readonly AcquireRequest[]): Promise<readonly Grant[] | number | null>;
  /** Who holds a key, and who waits for it; null when it is free. */
  inspect(key: string): Promise<StoredLock | null>;
  /** Breaks a lock, whoever holds it; true if it was held. */
  forceRelease(key: string): Promise<boolean>;
  /**
   * Breaks one hold, and nothing else, in one step: a hold that begins meanwhile stays. Where this is left out, the engine
   * inspects the lock and breaks all of it if the hold is there: other permits and a hold that has begun in between are
   * broken as well.
   */
  breakHold?(key: string, hold: NamedHold): Promise<BreakReply>;
  /**
   * Some of the held keys, and where to continue. A key may be listed more than once; one that is acquired or released
   * meanwhile may be missing. Cursors come from users: one that is not this store's is rejected with an
   * `InvalidCursorError` before anything is sent. A store that leaves it out can't list keys.
   */
  listKeys?(request: ListKeysRequest): Promise<ListedKeys>;
  /** Where processes publish their state for people; undefined or left out if there is no such place. */
  readonly board?: LockBoard | undefined;
  /**
   * Checks what every grant depends on, such as permissions, a schema or the base of the tokens, and writes nothing.
   * Rejects with a `LockStoreError` that names what is missing and how to repair it, also if the store is unreachable.
   * Where it is left out, health checks inspect a key instead.
   */
  verify?(): Promise<void>;
  /** Ends the session and everything it opened. */
  close(): Promise<void>;
}

/** Identifies one acquisition to the store, `<client id>:<number>`; used once. */
export type OwnerId = string & { readonly __brand: 'owner' };

export interface ListKeysRequest {
  /** The pattern of the keys: `*` for any characters, `?` for one; every other character stands for itself. */
  readonly match: string;
  /** The cursor of the previous reply; undefined for the first request. */
  readonly cursor: string | undefined;
  /** About how many keys to look at. */
  readonly count: number;
}

export interface ListedKeys {
  readonly keys: readonly string[];
  /** Undefined at the end of the list. */
  readonly cursor: string | undefined;
}

export interface AcquireRequest {
  readonly key: string;
  readonly owner: OwnerId;
  /** Lease of a grant that the reply brings, ms. */
  readonly lease: number;
  /**
   * Whether the lease is renewed until its hold ends, because the user gave no `leaseTime`. A store may let such a hold
   * outlive a crash of its process by up to half of the lease more; a lease that is not renewed ends exactly. Not renewed
   * if left out.
   */
  readonly isRenewed?: boolean;
  /** Lease of a grant that is pushed later, ms: short, until the owner claims it by a renewal. */
  readonly claimLease: number;
  readonly wait: boolean;
  /** How many callers wait behind this owner, itself included; for `inspect`. */
  readonly callers: number;
  /** How many consecutive tokens to grant at most, for holds that follow in this process: 1 to 127. */
  readonly tokens: number;
  /** Whether the engine expects to have to wait, which a store may use to save a request. */
  readonly contended: boolean;
  /**
   * How many may hold the lock at once: 1 for an exclusive lock; `Infinity` for readers, which only an exclusive hold
   * excludes; else the number of permits of a semaphore. All callers of a key use the same limit, where 1 and `Infinity` go
   * together; one that does not gets the reply `conflict`.
   */
  readonly limit: number;
  /** The caller's label, for people who inspect the lock. */
  readonly label: string | undefined;
}

export interface OwnerRequest {
  readonly key: string;
  readonly owner: OwnerId;
  /** Whether an earlier request of this owner may still be under way, and has to be rejected when it arrives. */
  readonly inDoubt: boolean;
}

export interface RenewRequest {
  readonly key: string;
  readonly owner: OwnerId;
  readonly lease: number;
  /** See {@link AcquireRequest.isRenewed}. */
  readonly isRenewed?: boolean;
  /** Whether the lease ends then even if it would last longer: the hold is over, but the lock stays taken until then. */
  readonly exactly?: boolean;
}

export interface ReserveRequest extends RenewRequest {
  /** How many tokens to reserve: 1 to 127. */
  readonly tokens: number;
}

export interface RaiseRequest {
  readonly key: string;
  readonly owner: OwnerId;
  readonly token: number;
  readonly since: WallClockMs;
  /** The last token that the hold, and those that follow it without a request, may use. */
  readonly floor: number;
}

/** A grant, and what the store knows for the holds that may follow it in the same process. */
export interface Grant {
  readonly token: number;
  readonly since: WallClockMs;
  /** How many consecutive tokens were granted, starting with `token`; 1 if left out. */
  readonly tokens?: number;
  /** Whether waiters of other sessions are known; not if left out. */
  readonly othersWait?: boolean;
  /** Whether the grant holds in this process only; not if left out. */
  readonly local?: boolean;
}

export type AcquireReply =
  | ({ readonly outcome: 'granted' } & Grant)
  | { readonly outcome: 'queued' | 'busy'; readonly holderLeaseLeft: number | undefined }
  | { readonly outcome: 'cancelled' }
  /** The present holders or waiters of the key have another limit; the owner is not queued. */
  | { readonly outcome: 'conflict'; readonly limit: number };

export interface PushedGrant extends Grant {
  /** No later than the moment at which the lease began, on the local clock. */
  readonly startedAt: MonotonicMs;
  readonly lease: number;
  /**
   * About when the lock passed to the owner, where `startedAt` may be long before: since then it keeps others waiting.
   * `startedAt` if left out.
   */
  readonly turnFrom?: MonotonicMs;
}

/**
 * Identifies a hold by its owner, its token, or both, as `inspect` returns them. Everything that is given has to match; at
 * least one field is given.
 */
export interface NamedHold {
  /** An owner is used for one acquisition, so a later hold of the same process has another one. */
  readonly owner?: string | undefined;
  /** As `inspect` or the handle returns it. */
  readonly token?: number | undefined;
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
  /** The oldest first. */
  readonly holders: readonly StoredHold[];
  /** In the order in which they are served. */
  readonly waiters: readonly StoredWaiter[];
}

export interface StoredHold {
  readonly owner: string;
  readonly token: number | undefined;
  readonly since: WallClockMs | undefined;
  /** ms left of the lease; undefined when it has no end. */
  readonly leaseLeft: number | undefined;
  readonly label: string | undefined;
}

export interface StoredWaiter {
  readonly owner: string;
  /** How many callers wait behind it. */
  readonly callers: number;
  readonly limit: number;
  readonly label: string | undefined;
}

/** A request that the store could not carry out. A session may reject only with this and its subclasses. */
export class LockStoreError extends Error {
  /** Whether the request may have been, or may still be, carried out. */
  readonly inDoubt: boolean;
  /** Whether asking again can help. */
  readonly retryable: boolean;
  /** Whether the store is unreachable: no connection, or no reply. False if it replied and refused. */
  readonly unreachable: boolean;
  /** What to do about it, in a sentence for people; undefined if the message says so, or nothing is known. */
  readonly remedy: string | undefined;

  constructor(
    message: string,
    options: {
      readonly inDoubt: boolean;
      readonly retryable: boolean;
      readonly unreachable?: boolean;
      readonly remedy?: string | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.name = 'LockStoreError';
    this.inDoubt = options.inDoubt;
    this.retryable = options.retryable;
    this.unreachable = options.unreachable ?? false;
    this.remedy = options.remedy;
  }

  /** The message as a sentence, and what to do. */
  get advice(): string {
    return this.remedy === undefined ? `${this.message}.` : `${this.message}. ${this.remedy}`;
  }

  /** `JSON.stringify` would leave out the message. */
  toJSON(): object {
    const { name, message, inDoubt, retryable, unreachable } = this;
    return { name, message, inDoubt, retryable, unreachable };
  }
}

/** The cursor of a listing is not one that this store returns. Thrown before anything is sent. */
export class InvalidCursorError extends LockStoreError {
  constructor() {
    super('the cursor is not one that this store returns', { inDoubt: false, retryable: false });
    this.name = 'InvalidCursorError';
  }
}
