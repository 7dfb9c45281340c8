import type { MonotonicMs, WallClockMs } from '../../common/clock.js';

/** Identifies one acquisition to the store, `<client id>:<number>`; used once. */
export type OwnerId = string & { readonly __brand: 'owner' };

export interface ListKeysRequest {
  /** What the keys look like: `*` for any characters, `?` for one; every other character stands for itself. */
  readonly match: string;
  /** That of the answer before; undefined for the first. */
  readonly cursor: string | undefined;
  /** About how many to look at. */
  readonly count: number;
}

export interface ListedKeys {
  readonly keys: readonly string[];
  /** Undefined when that was all. */
  readonly cursor: string | undefined;
}

export interface AskRequest {
  readonly key: string;
  readonly owner: OwnerId;
  /** Lease of a grant that the reply brings, ms. */
  readonly lease: number;
  /**
   * Whether the lease is renewed until its hold ends, because the user gave no `leaseTime`. A store may then let such a hold
   * outlive a crash of its process by up to half of the lease more; a lease that nobody renews ends exactly. Not if left out.
   */
  readonly isRenewed?: boolean;
  /** Lease of a grant that is pushed later, ms: short, until the owner claims it by a renewal. */
  readonly claimLease: number;
  readonly wait: boolean;
  /** How many callers stand behind this owner, itself included; for `inspect`. */
  readonly callers: number;
  /** How many tokens in a row to grant at most, for holds that follow in this process: 1 to 127. */
  readonly tokens: number;
  /** Whether the engine expects to have to wait, which a store may use to save a request. */
  readonly contended: boolean;
  /**
   * How many may hold the lock at once: 1 for all of it; `Infinity` for readers, whom only a hold of 1 keeps out, as they
   * do it; else the number of a semaphore. All callers of a key agree on it, 1 and `Infinity` going together; one that
   * does not is answered `conflict`.
   */
  readonly limit: number;
  /** What for, for whoever inspects the lock. */
  readonly label: string | undefined;
}

export interface OwnerRequest {
  readonly key: string;
  readonly owner: OwnerId;
  /** Whether an earlier request of this owner may still be under way, and has to be refused when it arrives. */
  readonly inDoubt: boolean;
}

export interface RenewRequest {
  readonly key: string;
  readonly owner: OwnerId;
  readonly lease: number;
  /** See {@link AskRequest.isRenewed}. */
  readonly isRenewed?: boolean;
  /** Whether the lease is to end then even if it would last longer: the hold is over, but stays taken until then. */
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

/** What a store says of a grant, and of the holds that may follow it in the same process. */
export interface Grant {
  readonly token: number;
  readonly since: WallClockMs;
  /** How many tokens in a row were granted, `token` being the first; 1 if left out. */
  readonly tokens?: number;
  /** Whether waiters of other sessions are known; not if left out. */
  readonly othersWait?: boolean;
  /** Whether the grant holds in this process only; not if left out. */
  readonly degraded?: boolean;
}

export type AskReply =
  | ({ readonly outcome: 'granted' } & Grant)
  | { readonly outcome: 'queued' | 'busy'; readonly holderLeaseLeft: number | undefined }
  | { readonly outcome: 'cancelled' }
  /** The present holders or waiters of the key have another limit; the owner has no place. */
  | { readonly outcome: 'conflict'; readonly limit: number };

export interface PushedGrant extends Grant {
  /** No later than the moment at which the lease began, on the local clock. */
  readonly startedAt: MonotonicMs;
  readonly lease: number;
  /**
   * About when the lock passed to the owner, where `startedAt` may be long before: from then on it keeps others waiting.
   * `startedAt` if left out.
   */
  readonly turnFrom?: MonotonicMs;
}

/** A hold by what `inspect` told of it: all that is given here has to be so. At least one is. */
export interface NamedHold {
  readonly owner?: string | undefined;
  readonly token?: number | undefined;
}

/** `free` if nobody holds the lock; `held-by-others` if it is held, but not by that hold. */
export type BreakReply = 'broken' | 'free' | 'held-by-others';

export type ReleaseReply = 'released' | 'not-held';
export type RenewReply = 'renewed' | 'gone' | 'taken';
export type ReserveReply =
  | { readonly outcome: 'reserved'; readonly token: number; readonly othersWait: boolean }
  | { readonly outcome: 'gone' | 'taken' };

/** What a store knows of a lock that is held. */
export interface StoredLock {
  /** That of its holders: see {@link AskRequest.limit}. */
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
  /** How many callers stand behind it. */
  readonly callers: number;
  readonly limit: number;
  readonly label: string | undefined;
}
