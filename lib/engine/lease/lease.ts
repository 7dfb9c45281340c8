import type { LockLostError } from '../../model/lock.errors.js';
import type { ReleaseOutcome } from '../../model/lock-handle.js';
import type { MonotonicMs, OwnerId, PushedGrant, WallClockMs } from '../../stores/port/lock-store.js';
import type { Timer } from '../../common/timer-queue.js';
import type { Pending } from '../../common/pending-reply.js';
import { deadlineOf, type CautiousMs } from '../../common/clock.js';
import type { CallSite } from '../events/call-site.js';
import type { EventSubject } from '../events/event-subject.js';
import { CohortBudget } from './cohort-budget.js';

const NEVER = Infinity as MonotonicMs;

/** Outcomes that are known without asking. */
export const RELEASED: Promise<ReleaseOutcome> = Promise.resolve('released');
export const EXPIRED: Promise<ReleaseOutcome> = Promise.resolve('expired');

/** What the store granted. */
export interface LeaseGrant {
  readonly token: number;
  readonly since: WallClockMs;
  /** When the lease began at the earliest. */
  readonly startedAt: MonotonicMs;
  readonly deadline: MonotonicMs;
  /** Whether the grant was pushed and waits to be claimed. */
  readonly unclaimed: boolean;
  /** Whether the grant holds in this process only (B65). */
  readonly degraded: boolean;
  /** How many tokens came with it, that of the first hold included; 1 if left out. */
  readonly tokens?: number | undefined;
  /** Whether other processes are known to wait. */
  readonly othersWait?: boolean | undefined;
  /** See {@link PushedGrant.turnFrom}. */
  readonly turnFrom?: MonotonicMs | undefined;
}

/** Under which name the store granted it. */
export interface LeaseName {
  readonly owner: OwnerId;
  /** Whether a copy of the request that brought the grant may still be under way. */
  readonly inDoubt: boolean;
}

/** What the caller asked for. */
export interface LeaseWish {
  readonly key: string;
  /** The user's; undefined when the watchdog keeps the lease. */
  readonly leaseTime: number | undefined;
  /** How many may hold the lock at once. */
  readonly limit: number;
}

/** What lives on a lease. */
export interface LeaseUser extends EventSubject {
  readonly token: number;
  readonly acquiredAt: WallClockMs;
  /** When it began. */
  readonly heldFrom: MonotonicMs;
  /** Where `acquire()` was called, for a handle that no scope releases. */
  readonly opened: CallSite | undefined;
  /** Told once, when the lease is lost. */
  loseTo(error: LockLostError): void;
}

/** Where the callers of this process stand that wait for the lock. */
export interface LeaseSuccessor {
  /** Hands the lock to the next caller of this process, if there is one that may have it. */
  handOn(lease: Lease, now: MonotonicMs): boolean;
  /** Whether the next hold may live on the lease, or when, is not what it was. */
  leaseChanged(): void;
  /** The lease is over. */
  leaseEnded(lease: Lease): void;
  /** Keeps the lease for those who are about to ask, if it may; answers what becomes of it, or of the hold on it. */
  linger(lease: Lease, now: MonotonicMs): Promise<ReleaseOutcome> | undefined;
}

/**
 * What the store granted: the time for which an owner has a lock. The hold that the user sees lives on it; when it ends,
 * the next hold of this process may live on the same lease (P20).
 */
export class Lease implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  readonly key: string;
  readonly owner: OwnerId;
  readonly startedAt: MonotonicMs;
  readonly fixedLease: number | undefined;
  readonly inDoubt: boolean;
  readonly unclaimed: boolean;
  readonly degraded: boolean;
  readonly limit: number;

  /** Of the hold that began on it first: the store knows of no other. */
  readonly firstToken: number;

  private user: LeaseUser | undefined;
  /** Readers of this process that live on it together, the oldest first (P25). */
  private readers: Set<LeaseUser> | undefined;
  /** Whether further holds of this process may begin on it before the store is asked. */
  hasBudget = false;

  heir: LeaseSuccessor | undefined;
  state: 'held' | 'released' | 'lost' = 'held';
  lostError: LockLostError | undefined;
  /** Whether it is kept between two holds: the one before is over, and nobody has the next. */
  isParked = false;
  /** Resolves when it is on its way back or has a hold again, if it was kept after its last reader had left. */
  lingering: Promise<void> | undefined;
  /** What became of it in the store, once it has been given back. */
  returned: Pending<ReleaseOutcome> | undefined;
  /** Whether its deadline is watched, and it is renewed in time: not in the moment after the grant. */
  isWatched = false;
  /** Whether the store is being asked if it still has it, since that is not sure. */
  needsVerification = false;
  /** Until when the lock stays taken even if its hold ends before (`holdAtLeast`). */
  keptUntil: MonotonicMs | undefined;
  /** When the last successful renewal was sent. */
  renewedAt: MonotonicMs;
  /** The last renewal's failure, if none has succeeded since. */
  renewalFailure: Error | undefined;

  /** Its deadline if the store keeps it for as long as the user wants; until then it is renewed. */
  wantedUntil: MonotonicMs;
  /** Whether it was asked to last longer than the watchdog would have it. */
  private isExtended = false;
  /** How many requests to break the hold that lives on it may be carried out yet: it is to be that one when they are. */
  private breaks = 0;
  private madeBudget: CohortBudget | undefined;
  private validUntil: MonotonicMs;
  private sureUntil: CautiousMs;
  /** How long after that the store may still have it, ms. */
  private margin: number;

  /** @param began `startedAt` on the cautious clock */
  constructor(
    name: LeaseName,
    wish: LeaseWish,
    private readonly grant: LeaseGrant,
    readonly began: CautiousMs,
    private readonly atDeadline: (lease: Lease) => void,
  ) {
    this.key = wish.key;
    this.owner = name.owner;
    this.firstToken = checkToken(grant.token);
    this.startedAt = this.renewedAt = grant.startedAt;
    this.fixedLease = wish.leaseTime;
    this.inDoubt = name.inDoubt;
    this.unclaimed = grant.unclaimed;
    this.degraded = grant.degraded;
    this.limit = wish.limit;
    this.validUntil = grant.deadline;
    this.wantedUntil = wish.leaseTime === undefined ? NEVER : deadlineOf(grant.startedAt, wish.leaseTime);
    const term = grant.deadline - grant.startedAt;
    this.sureUntil = (began + term) as CautiousMs;
    this.margin = marginOf(term);
  }

  /** Until when the lease may be relied on. Only ever moves later. */
  get deadline(): MonotonicMs {
    return this.validUntil;
  }

  /**
   * Whether the next hold of this process may live on it. One that the user fixed has to be in the store before its hold
   * starts, one that was extended would outlive a crash of the next holder for too long (B20), when the store can be
   * reached again, the next hold has to be the store's (B65), and one that is being broken would take it along (O21).
   */
  get isTransferable(): boolean {
    const isOfThisHold = this.isExtended || this.inDoubt || this.degraded || this.breaks > 0;
    return this.fixedLease === undefined && !isOfThisHold;
  }

  /** The store has confirmed it, asked at a time that is told by both clocks. The deadlines only ever move later. */
  confirm(sentAt: MonotonicMs, sentCautiously: CautiousMs, deadline: MonotonicMs): void {
    if (deadline > this.validUntil) this.validUntil = deadline;
    // Where the store has a lease that the cautious clock puts at an end, that clock was too cautious.
    const wasOver = sentCautiously >= this.sureUntil + this.margin;
    const from = wasOver ? this.validUntil : deadline;
    const sureUntil = (from + sentCautiously - sentAt) as CautiousMs;
    if (sureUntil <= this.sureUntil) return;
    this.sureUntil = sureUntil;
    this.margin = marginOf(from - sentAt);
  }

  /** Whether the watchdog has to renew it. */
  get isRenewed(): boolean {
    return this.validUntil < this.wantedUntil;
  }

  isGood(now: MonotonicMs): boolean {
    return this.state === 'held' && now < this.validUntil;
  }

  /** ms for which it is surely held, however long the machine was suspended (F30); 0 or less if it is not. */
  sureFor(now: MonotonicMs, cautiousNow: CautiousMs): number {
    if (this.state !== 'held') return 0;
    return Math.min(this.validUntil - now, this.sureUntil - cautiousNow);
  }

  /** What a time since its grant is by the store's clock. */
  wallClockAt(time: MonotonicMs): WallClockMs {
    const { since } = this.grant;
    return time === this.startedAt ? since : (Math.round(since + time - this.startedAt) as WallClockMs);
  }

  /** How many of these holds there may be. It is made when it is asked for first: most leases are over before. */
  get budget(): CohortBudget | undefined {
    if (this.hasBudget && this.madeBudget === undefined) {
      const { token, startedAt, turnFrom = startedAt, tokens = 1, othersWait = false } = this.grant;
      const most = this.isForReaders ? Infinity : undefined;
      this.madeBudget = new CohortBudget(token + 1, tokens - 1, othersWait, turnFrom, startedAt, most);
    }
    return this.madeBudget;
  }

  /** Whether several holds of this process may live on it at once. */
  get isForReaders(): boolean {
    return this.limit === Infinity;
  }

  /** How many holds live on it. */
  get users(): number {
    return this.readers?.size ?? (this.user === undefined ? 0 : 1);
  }

  /** A hold begins on it. */
  take(user: LeaseUser): void {
    this.isParked = false;
    if (this.isForReaders) (this.readers ??= new Set<LeaseUser>()).add(user);
    else this.user = user;
  }

  /** A hold on it is over. */
  leave(user: LeaseUser): void {
    this.readers?.delete(user);
    this.user = undefined;
  }

  /** Those who live on it, the oldest first. */
  get holders(): readonly LeaseUser[] {
    if (this.readers !== undefined) return [...this.readers];
    return this.user === undefined ? [] : [this.user];
  }

  /** Whether that hold lives on it. */
  has(user: LeaseUser): boolean {
    return this.user === user || this.readers?.has(user) === true;
  }

  /** Tells those who live on it that it is lost. */
  loseTo(error: LockLostError): void {
    this.lostError = error;
    for (const user of this.holders) user.loseTo(error);
  }

  /** Another hold, or an inner one, wants the lock to stay taken until then. */
  keepUntil(time: MonotonicMs): void {
    if (this.keptUntil === undefined || time > this.keptUntil) this.keptUntil = time;
    this.heir?.leaseChanged();
  }

  /** One more request to break its hold is on its way, or one less. */
  changeBreaks(by: 1 | -1): void {
    this.breaks += by;
    this.heir?.leaseChanged();
  }

  /** It was asked to last longer than the watchdog would have it. */
  extended(): void {
    this.isExtended = true;
    this.heir?.leaseChanged();
  }

  fire(): void {
    this.atDeadline(this);
  }
}

/** By how much a lease is longer than what is relied on, but for 1 ms of rounding: see `deadlineOf`. */
function marginOf(reliedOn: number): number {
  return (reliedOn + 2) / 99 + 1;
}

/** Guarded resources compare tokens, and every comparison with `NaN` is false. */
function checkToken(token: number): number {
  if (Number.isSafeInteger(token)) return token;
  throw new TypeError(
    `the store granted a lock with ${String(token)} for its token, which is no whole number`,
  );
}
