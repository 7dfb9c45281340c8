import type { LockLostError } from '../../model/lock.errors.js';
import type { ReleaseOutcome } from '../../model/lock-handle.js';
import type { MonotonicMs, OwnerId, WallClockMs } from '../../stores/port/lock-store.js';
import type { Linked } from '../../common/linked-queue.js';
import type { Timer } from '../../common/timer-queue.js';
import type { Pending } from '../../common/deferred.js';
import { deadlineOf, type SuspendSafeMs } from '../../common/clock.js';
import type { ReportedHold } from '../report/lock-reporter.js';
import { HandOverBudget } from '../machine/hand-over-budget.js';
import type { LeaseGrant, LocalLease } from '../machine/key-machine.js';

const NEVER = Infinity as MonotonicMs;

/** Release outcomes known without a request. */
export const RELEASED: Promise<ReleaseOutcome> = Promise.resolve('released');
export const KEPT: Promise<ReleaseOutcome> = Promise.resolve('kept');
export const EXPIRED: Promise<ReleaseOutcome> = Promise.resolve('expired');

/** The request that was granted. */
export interface GrantedRequest {
  readonly owner: OwnerId;
  /** Whether a copy of the request may still be in flight. */
  readonly inDoubt: boolean;
}

/** What its caller requested. */
export interface LeaseTerms {
  readonly key: string;
  readonly leaseTime: number | undefined;
  readonly limit: number;
  readonly permits: number;
}

/** A hold that uses a lease. */
export interface LeaseHolder extends ReportedHold {
  /** Called once, when the lease is lost. */
  loseTo(error: LockLostError): void;
  /** Its release found no lease in the store: it was lost before, and this process did not notice. */
  wasLost(error: LockLostError): void;
}

/** The callers of this process that wait for the lock of a lease. It may pass to them when its hold ends. */
export interface LeaseSuccessors {
  readonly canReserve: boolean;
  /** The last hold has ended. Returns whether the lease stays here. */
  onHoldEnded(lease: Lease, now: MonotonicMs): boolean;
  /** Keeps the lease for readers that are about to come back, if possible; resolves with its outcome. */
  linger(lease: Lease, now: MonotonicMs): Promise<ReleaseOutcome> | undefined;
  onLeaseEnded(lease: Lease): void;
}

/**
 * The time for which the store granted a lock to an owner. The hold that the user sees uses the lease; when that hold
 * ends, the next one of this process may use the same lease.
 */
export class Lease implements Timer, Linked<Lease>, LocalLease {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  previous: Lease | undefined;
  next: Lease | undefined;

  readonly key: string;
  readonly owner: OwnerId;
  readonly startedAt: MonotonicMs;
  readonly fixedLease: number | undefined;
  readonly inDoubt: boolean;
  readonly unclaimed: boolean;
  readonly local: boolean;
  readonly limit: number;
  readonly permits: number;

  /** The token of its first hold, the only one that the store knows. */
  readonly firstToken: number;

  private holder: LeaseHolder | undefined;
  /** The hold that ended with this lease, so that the store's reply to its release is about that hold, too. */
  returnedBy: LeaseHolder | undefined;
  /** Readers of this process that use it together, oldest first. */
  private readers: Set<LeaseHolder> | undefined;

  /** Where the callers of this process wait for the lock; undefined if the lease can't pass on. */
  runner: LeaseSuccessors | undefined;
  state: 'held' | 'released' | 'lost' = 'held';
  lostError: LockLostError | undefined;
  isParked = false;
  /** Resolves when it is released or used again, if it was kept after its last reader had left. */
  lingering: Promise<void> | undefined;
  /** The store's outcome of its release. */
  returned: Pending<ReleaseOutcome> | undefined;
  /** Whether its deadline is watched and it is renewed: from the end of the tick in which it began. */
  isWatched = false;
  /** Whether the store is being asked if it still has the lease. */
  needsVerification = false;
  keptUntil: MonotonicMs | undefined;
  /** When the last successful renewal was sent. */
  renewedAt: MonotonicMs;
  /** The last renewal's failure, if none has succeeded since. */
  renewalFailure: Error | undefined;
  /** Its deadline if the store keeps it for as long as the user wants; renewed until then. */
  wantedUntil: MonotonicMs;
  /** Whether `extend()` requested more than the watchdog's lease. */
  isExtended = false;
  /** How many requests to break its hold may still be carried out. */
  breaks = 0;
  private madeBudget: HandOverBudget | undefined;
  /** Until when the lease can be relied on. Only ever moves later. */
  deadline: MonotonicMs;
  private sureUntil: SuspendSafeMs;
  /** How long after the deadline the store may still have it, ms. */
  private margin: number;

  /** @param began `startedAt` on the cautious clock */
  constructor(
    request: GrantedRequest,
    terms: LeaseTerms,
    private readonly grant: LeaseGrant,
    readonly began: SuspendSafeMs,
    private readonly atDeadline: (lease: Lease) => void,
  ) {
    this.key = terms.key;
    this.owner = request.owner;
    this.firstToken = checkToken(grant.token);
    this.startedAt = this.renewedAt = grant.startedAt;
    this.fixedLease = terms.leaseTime;
    this.inDoubt = request.inDoubt;
    this.unclaimed = grant.unclaimed;
    this.local = grant.local === true;
    this.limit = terms.limit;
    this.permits = terms.permits;
    this.deadline = grant.deadline;
    this.wantedUntil = terms.leaseTime === undefined ? NEVER : deadlineOf(grant.startedAt, terms.leaseTime);
    const term = grant.deadline - grant.startedAt;
    this.sureUntil = (began + term) as SuspendSafeMs;
    this.margin = marginOf(term);
  }

  /**
   * Not with a `leaseTime`, which has to be in the store before its hold starts; nor if it was extended, which would
   * outlive a crash of the next holder for too long; nor if it is local, since the next hold must be in the store; nor
   * while its hold is being broken, which would also break the next one.
   */
  get isTransferable(): boolean {
    const isOfThisHold = this.isExtended || this.inDoubt || this.local || this.breaks > 0;
    return this.fixedLease === undefined && !isOfThisHold;
  }

  /** The store has confirmed the lease, by a request sent at this time (on both clocks). Deadlines only ever move later. */
  confirm(sentAt: MonotonicMs, sentCautiously: SuspendSafeMs, deadline: MonotonicMs): void {
    if (deadline > this.deadline) this.deadline = deadline;
    // The store still has a lease that has ended by the cautious clock: that clock was too cautious.
    const wasOver = sentCautiously >= this.sureUntil + this.margin;
    const from = wasOver ? this.deadline : deadline;
    const sureUntil = (from + sentCautiously - sentAt) as SuspendSafeMs;
    if (sureUntil <= this.sureUntil) return;
    this.sureUntil = sureUntil;
    this.margin = marginOf(from - sentAt);
  }

  /** Whether the watchdog has to renew it. */
  get isRenewed(): boolean {
    return this.deadline < this.wantedUntil;
  }

  isGood(now: MonotonicMs): boolean {
    return this.state === 'held' && now < this.deadline;
  }

  /** ms for which it is surely held, however long the machine was suspended; 0 or less if it is not. */
  sureFor(now: MonotonicMs, cautiousNow: SuspendSafeMs): number {
    if (this.state !== 'held') return 0;
    return Math.min(this.deadline - now, this.sureUntil - cautiousNow);
  }

  /** A time since the grant, by the store's clock. */
  wallClockAt(time: MonotonicMs): WallClockMs {
    const { since } = this.grant;
    return time === this.startedAt ? since : (Math.round(since + time - this.startedAt) as WallClockMs);
  }

  /** Created on first use: most leases end before. */
  get budget(): HandOverBudget | undefined {
    if (this.runner?.canReserve === true && this.madeBudget === undefined) {
      const { token, startedAt, turnFrom = startedAt, tokens = 1, othersWait = false } = this.grant;
      const { turn } = this.grant;
      const max = this.isForReaders ? Infinity : turn === undefined ? undefined : tokens - 1;
      this.madeBudget = new HandOverBudget(token + 1, tokens - 1, othersWait, turnFrom, startedAt, max, turn);
    }
    return this.madeBudget;
  }

  get isForReaders(): boolean {
    return this.limit === Infinity;
  }

  get users(): number {
    return this.readers?.size ?? (this.holder === undefined ? 0 : 1);
  }

  /** A hold on the lease begins. */
  take(holder: LeaseHolder): void {
    this.isParked = false;
    this.returnedBy = undefined;
    if (this.isForReaders) (this.readers ??= new Set<LeaseHolder>()).add(holder);
    else this.holder = holder;
  }

  /** A hold on the lease has ended. */
  leave(holder: LeaseHolder): void {
    this.readers?.delete(holder);
    this.holder = undefined;
  }

  /** The holds that use it, oldest first. */
  get holders(): readonly LeaseHolder[] {
    if (this.readers !== undefined) return [...this.readers];
    return this.holder === undefined ? [] : [this.holder];
  }

  has(holder: LeaseHolder): boolean {
    return this.holder === holder || this.readers?.has(holder) === true;
  }

  loseTo(error: LockLostError): void {
    this.lostError = error;
    for (const holder of this.holders) holder.loseTo(error);
  }

  /** Keeps the lock held until this time even if its holds end sooner. */
  keepUntil(time: MonotonicMs): void {
    if (this.keptUntil === undefined || time > this.keptUntil) this.keptUntil = time;
  }

  fire(): void {
    this.atDeadline(this);
  }
}

/** By how much the granted lease exceeds the time relied on, plus 1 ms of rounding: see `deadlineOf`. */
function marginOf(reliedOn: number): number {
  return (reliedOn + 2) / 99 + 1;
}

/** Guarded resources compare tokens, and every comparison with `NaN` is false. */
export function checkToken(token: number): number {
  if (Number.isSafeInteger(token)) return token;
  throw new TypeError(
    `the store granted a lock with ${String(token)} as its token, which is not a whole number`,
  );
}
