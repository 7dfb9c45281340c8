import type { LockClock, MonotonicMs } from '../../common/clock.js';
import type { LockStoreError } from './lock-store-error.js';
import type {
  AskReply,
  AskRequest,
  BreakReply,
  Grant,
  ListKeysRequest,
  ListedKeys,
  NamedHold,
  OwnerId,
  OwnerRequest,
  PushedGrant,
  RaiseRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredLock,
} from './lock-requests.js';

export type { LockClock, LockTimers, MonotonicMs, WallClockMs } from '../../common/clock.js';
export type * from './lock-requests.js';
export { InvalidCursorError, LockStoreError } from './lock-store-error.js';

/**
 * The port between the engine and whatever keeps the locks. It speaks of owners,
 * leases and grants; connections, scripts and retries of one kind of store stay
 * behind it. Implement it to keep locks somewhere else, and pass the object as
 * `store` to `DistributedLockModule.forRoot`.
 *
 * What the engine relies on:
 * - every request is idempotent per owner: the same request twice has the effect of one;
 * - a grant lasts `lease` milliseconds of the store's own clock and then ends by itself;
 * - waiters are granted in the order in which they were first queued, several at once where their `limit` has room;
 * - tokens of a key only grow, whatever happened in between.
 */
export interface LockStore {
  /** Short name for log lines, such as `redis 127.0.0.1:6379`. Contains no secrets. */
  readonly name: string;

  /** Where in it the locks are, for people: such as `prefix "lock:"`. Contains no secrets. */
  readonly place?: string | undefined;

  /**
   * The time by which the engine measures leases and waits of this store; for tests that move it. Every store that is
   * given to a module has the process's own unless it says so.
   */
  readonly clock?: LockClock | undefined;

  /**
   * Opens a session for one client. Called once per module instance; the module
   * closes the sessions that it opened and nothing else.
   */
  open(client: LockStoreClient): LockStoreSession;
}

/** What a store sees of the engine that opened a session. */
export interface LockStoreClient {
  /** Unique to this session, without a colon. Every owner of the session starts with it. */
  readonly id: string;
  /** The lease of locks without a `leaseTime`, in ms. Requests should fail well before a third of it. */
  readonly watchdogTimeout: number;
  /** The process's monotonic clock. */
  now(): MonotonicMs;
  /** Brings a grant to a queued owner without being asked again. */
  granted(owner: OwnerId, grant: PushedGrant): void;
  /**
   * Tells, before its request is answered, that others come first: they hold the lock, for so many ms of their lease if
   * that is known, or asked for it before. What else the store does for the request may take its time.
   */
  heldByOthers(owner: OwnerId, holderLeaseLeft: number | undefined): void;
  /**
   * Tells that the session holds the request of an owner back until it is ready for it, such as until it can hear of
   * grants: that the store does not answer meanwhile means nothing.
   */
  heldBack(owner: OwnerId): void;
  /**
   * Tells that a request which was held back is to be sent now. Answers whether anybody still waits under that owner: if
   * not, the session answers `cancelled` instead.
   */
  resumes(owner: OwnerId): boolean;
  /** Tells that a hold was broken by force. */
  broken(owner: OwnerId): void;
  /** Asks every waiter of this session to ask again: messages may have been missed. */
  askAgain(): void;
  /**
   * Tells that the store can be reached again, and may have lost what it had: it is asked at once for every hold, so that
   * one which it has forgotten is lost now and not when it is due for renewal; and waiters ask again.
   *
   * @param concerns for which keys this goes; left out, for all
   */
  reconnected(concerns?: (key: string) => boolean): void;
  /**
   * Tells that the session takes locks in this process only from now on, and why; or, with false, that they are taken in
   * the store again. For stores that fall back on something.
   */
  degraded(isLocal: boolean, cause?: LockStoreError): void;
  /** A line for the operator's log. */
  warn(message: string): void;
}

/** A connection of a store's session. */
export interface StoreConnection {
  /** What it is for or where it leads to, such as `commands` or `10.0.0.5:6379`; no secrets. */
  readonly name: string;
  readonly isOpen: boolean;
}

/**
 * A board beside the locks, on which processes leave short texts for whoever looks at the locks of all of them. No lock
 * needs it. Each method rejects with a `LockStoreError`.
 */
export interface LockBoard {
  /** Tells all processes that somebody looks, for so many ms from now. */
  watch(ttl: number): Promise<void>;
  /** Whether somebody looks. Writes nothing. */
  isWatched(): Promise<boolean>;
  /** Leaves a text under a name, in place of the one that it had; it vanishes after so many ms. */
  publish(name: string, text: string, ttl: number): Promise<void>;
  /** All texts that are there. */
  read(): Promise<readonly string[]>;
}

export interface LockStoreSession {
  /** What an operator should know of the store, for the log line at start, such as its version; known after `start`. */
  readonly description?: string | undefined;
  /** The connections of this session, for people: an open one leads to a store that was there when it was used last. */
  connections?(): readonly StoreConnection[];
  /**
   * The longest time, ms, for which it keeps a lock without a renewal, whatever lease was asked for. The engine relies on no
   * more of a grant or a renewal, and renews longer leases until they are over. May change while there is no connection. A
   * store that leaves it out has no bound.
   */
  readonly longestUnrenewed?: number | undefined;
  /**
   * Why it can't keep a lock for so many ms after the process that had it is gone (`holdAtLeast`), and what to change: the end
   * of a sentence without a full stop, for people. Undefined if it can, or does not know yet. A store that leaves it out has
   * no bound.
   */
  whyTooLong?(lease: number): string | undefined;
  /**
   * Whether what this session reports of other processes' leases is only an upper bound, because the store keeps no clock
   * for them: `leaseLeft` and `holderLeaseLeft` then say how long they may last at most. Exact if left out.
   */
  readonly remainingIsBound?: boolean | undefined;
  /** Connects. Rejects with a `LockStoreError` if the store is not there yet; the session keeps trying. */
  start(): Promise<void>;
  /** Asks for a lock once. With `wait`, a busy answer leaves the owner in the queue. */
  ask(request: AskRequest): PromiseLike<AskReply>;
  /** Takes an owner back, whatever state it is in. */
  cancel(request: OwnerRequest): Promise<void>;
  /**
   * Gives a held lock to the next waiter, or frees it. Callers go on without its reply, so what is asked for about the key
   * after this call has to be carried out after it.
   */
  release(request: OwnerRequest): PromiseLike<ReleaseReply>;
  /**
   * Resolves when all requests about the key so far have been handed to the connection; undefined when they have been. A
   * request about another key must not delay it, unless all requests go out together or in order. A store that leaves it
   * out sends each request when it is made.
   */
  whenSent?(key: string): Promise<unknown> | undefined;
  /**
   * Renews many holds; one answer for each, in order: an error for one that could not be renewed where others could.
   * Never creates and never shortens a lease.
   */
  renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]>;
  /**
   * Renews one hold and reserves tokens for the holds that follow it in this process without a request. With a
   * `lease` of 0 it leaves the lease as it is. A store that leaves it out is asked for every hold.
   */
  reserve?(request: ReserveRequest): PromiseLike<ReserveReply>;
  /**
   * Tells a member of a quorum which token a hold has by the word of all members, and that tokens from now on have to be
   * larger than those which the hold may use. Does the latter also when the owner does not hold the lock. A store that
   * leaves it out can't promise that tokens grow where it is a member and the members' clocks differ.
   */
  raise?(request: RaiseRequest): Promise<void>;
  /**
   * Grants all of these locks, which are for one caller, or none. Answers the grants in order, or the index of the first
   * that is not to be had at once, which is then waited for when those before it are held. Null if that can't be told,
   * or locks can't be granted together: each is then asked for by itself. A store that leaves it out is always
   * asked so.
   */
  takeAll?(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null>;
  /** Who holds a key, and who waits for it; null when it is free. */
  inspect(key: string): Promise<StoredLock | null>;
  /** Breaks a lock whoever holds it; true if it was held. */
  forceRelease(key: string): Promise<boolean>;
  /**
   * Breaks one hold, and nothing else, in one step: a hold that begins meanwhile stays. Of a store that leaves it out the lock
   * is looked at, and broken in a second step if the hold is there: with it go other shares, and a hold that has begun in
   * between.
   */
  breakHold?(key: string, hold: NamedHold): Promise<BreakReply>;
  /**
   * Some of the keys that are held, and where to go on; it may answer a key twice or more, and need not answer one that is
   * taken or given back meanwhile. A cursor comes from whoever looks: one that is not this store's is refused with an
   * `InvalidCursorError` before anything is sent. A store that leaves it out can't tell.
   */
  listKeys?(request: ListKeysRequest): Promise<ListedKeys>;
  /** Where processes tell each other how they are, for people; undefined, or left out, if there is no such place. */
  readonly board?: LockBoard | undefined;
  /**
   * Reads what every grant depends on, such as rights, a schema or the base of the tokens, and writes nothing. Rejects with a
   * `LockStoreError` that names what is missing and how to repair it, also if the store can't be reached. Of a store that
   * leaves it out, health checks inspect a key instead.
   */
  verify?(): Promise<void>;
  /** Ends the session and everything it opened. */
  close(): Promise<void>;
}
