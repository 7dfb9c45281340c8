import { deadlineOf, type SuspendSafeMs } from '../common/clock.js';
import type { Pending } from '../common/deferred.js';
import type { Linked } from '../common/linked-queue.js';
import type { Timer } from '../common/timer-queue.js';
import type { LockLostError } from '../model/lock.errors.js';
import type { ReleaseOutcome } from '../model/lock-handle.js';
import type { Grant, MonotonicMs, OwnerId, PushedGrant, WallClockMs } from '../stores/port/lock-store.js';
import type { ReportedHold } from './report/lock-reporter.js';
import { SILENCE } from './time-limits.js';
import { Turn } from './turn.js';

const NEVER = Infinity as MonotonicMs;

/** A hold as its ticket sees it. */
export interface TicketUser extends ReportedHold {
  /** Called once, when the ticket is lost. */
  loseTo(error: LockLostError): void;
  /** The reply to its release showed that it was lost before, and this process did not notice. */
  wasLost(error: LockLostError): void;
}

/** The line that a ticket belongs to. */
export interface TicketLine {
  /** The store has granted the lock without another request. */
  onPushed(ticket: Ticket, grant: PushedGrant): void;
  /** The store reports, before its reply, that other processes come first. */
  onHeldByOthers(ticket: Ticket, holderLeaseLeft: number | undefined): void;
  /** A grant was broken by force before this process knew of it. */
  onBroken(ticket: Ticket): void;
  /** The time of the ticket's timer has come. */
  onDue(ticket: Ticket): void;
  /**
   * The last hold on the ticket has ended. Returns the outcome of its release if the ticket stays here: for the next hold,
   * or for a moment, for readers that are about to come back.
   *
   * @param mayLinger whether it may be released a moment later
   */
  onHoldEnded(ticket: Ticket, mayLinger: boolean): Pending<ReleaseOutcome> | ReleaseOutcome | undefined;
  /** The ticket was released or lost, or the lock stays held without a hold (`holdAtLeast`). */
  onTicketEnded(ticket: Ticket): void;
}

/** When a grant that was accepted for a caller begins and ends. */
interface GrantTimes {
  /** The earliest time when the lease may have begun. */
  readonly startedAt: MonotonicMs;
  /** The same on the clock that counts suspensions. */
  readonly began: SuspendSafeMs;
  /** Until when it can be relied on. */
  readonly deadline: MonotonicMs;
  /** Whether the grant was pushed and has to be claimed. */
  readonly unclaimed: boolean;
  /** The caller's own lease; undefined if the watchdog renews it. */
  readonly leaseTime: number | undefined;
}

/**
 * One owner id at the store, from its first request until nothing of it is left there. It belongs to the process, not to
 * a call: while it waits, another call may inherit it; once it is held, one hold after the other may use it. Only its
 * line and {@link Tickets} change it.
 *
 * | state of the ticket | event                                   | what follows                                                    |
 * | ------------------- | --------------------------------------- | --------------------------------------------------------------- |
 * | asking              | granted                                 | held by its caller; gone and withdrawn if no call needs it      |
 * |                     | queued                                  | queued: it polls (P14)                                          |
 * |                     | failed, may be retried                  | pausing, in doubt if the request may have been carried out      |
 * |                     | rejected, or another limit              | gone and withdrawn; its callers are refused                     |
 * |                     | its caller is gone                      | inherited by the next caller; with none, withdrawn at the reply |
 * | queued, pausing     | pushed grant                            | held by its caller, which claims it (P12)                       |
 * |                     | time is up, reconnected                 | asking                                                          |
 * |                     | its caller is gone                      | inherited, or gone and withdrawn                                |
 * | held                | its last hold ends                      | held by the next caller, idle, or gone and released             |
 * |                     | its last hold ends before `holdAtLeast` | gone; released at that time                                     |
 * |                     | deadline, broken, not at the store      | lost, and its holds with it                                     |
 * |                     | the store grants the whole lock again   | lost, and released                                              |
 * | held, idle          | reserved, readers come back             | held by the next caller, or gone and released                   |
 * |                     | the turn ends, no callers               | gone and released                                               |
 */
export type TicketState = 'asking' | 'queued' | 'pausing' | 'held' | 'lost' | 'gone';

/** @template C the calls that may wait for it */
export class Ticket<C = unknown> implements Timer, Linked<Ticket> {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  previous: Ticket | undefined;
  next: Ticket | undefined;

  state: TicketState = 'asking';
  /** The shortest lease of the requests that may still be carried out although their replies are lost. */
  shortestInDoubt = Infinity;

  // While it waits

  /** When the pending request was sent. */
  askedAt: MonotonicMs | undefined;
  /** The lease that the store would grant. */
  askedLease = 0;
  /** The caller of the last request, and when that was sent. */
  askedFor: C | undefined;
  sentAt = 0 as MonotonicMs;
  isAnswered = false;
  /** Whether a grant was broken while a request was pending, whose reply may report that grant. */
  wasBroken = false;
  /** Whether to request again instead of pausing. */
  isWoken = false;
  /** Consecutive failed requests. */
  failures = 0;
  pushed: PushedGrant | undefined;
  /** Whether the store has reported, before its reply to the attempt, that other processes come first. */
  othersAreFirst = false;

  // Once it is held

  private grant: (Grant & Pick<PushedGrant, 'turnFrom'>) | undefined;
  private times: GrantTimes | undefined;
  private holder: TicketUser | undefined;
  /** Readers of this process that use it together, oldest first. */
  private readers: Set<TicketUser> | undefined;
  private madeTurn: Turn | undefined;
  /** Until when it can be relied on. Only ever moves later. */
  deadline = -Infinity as MonotonicMs;
  private sureUntil = -Infinity as SuspendSafeMs;
  /** How long after the deadline the store may still have it, ms. */
  private margin = 0;
  /** When the last successful renewal was sent. */
  renewedAt = 0 as MonotonicMs;
  /** The last renewal's failure, if none has succeeded since. */
  renewalFailure: Error | undefined;
  /** Its deadline if the store keeps it for as long as the user wants; renewed until then. */
  wantedUntil = NEVER;
  /** Whether its deadline is watched and it is renewed: from the end of the tick in which it began. */
  isWatched = false;
  /** Whether the store is being asked if it still has it. */
  isBeingVerified = false;
  /** Whether this process keeps it although no hold uses it, because a reservation is pending or readers may come back. */
  isIdle = false;
  /** Resolves when it is released or used again, if it was kept after its last reader had left. */
  lingering: Promise<void> | undefined;
  /** Until when the lock stays held even if its holds end sooner (`holdAtLeast`). */
  keptUntil: MonotonicMs | undefined;
  /** Whether `extend()` requested more than the watchdog's lease. */
  isExtended = false;
  /** How many requests to break its hold may still be carried out. */
  breaks = 0;
  /** The hold that ended with it, so that the store's reply to its release is about that hold, too. */
  releasedBy: TicketUser | undefined;
  /** The store's outcome of its release. */
  released: Pending<ReleaseOutcome> | undefined;

  constructor(
    readonly key: string,
    readonly owner: OwnerId,
    readonly line: TicketLine,
    readonly limit: number,
    /** It serves only callers that request as many. */
    readonly permits: number,
    /** The call that it requests the lock for; undefined when no call needs it. */
    public caller: C | undefined,
    /** Whether the lock is known or expected to be held, so that the request queues. */
    public isContended = false,
    /** Whether it is a single attempt, for which the store keeps no position. */
    readonly isTry = false,
  ) {}

  get isForReaders(): boolean {
    return this.limit === Infinity;
  }

  /** Whether a request of this owner may still be carried out. */
  get inDoubt(): boolean {
    return this.shortestInDoubt < Infinity;
  }

  get isAsking(): boolean {
    return this.askedAt !== undefined;
  }

  /** Whether the store may still grant it. */
  get isWaiting(): boolean {
    return this.state === 'asking' || this.state === 'queued' || this.state === 'pausing';
  }

  /** Whether the store has owed a reply for so long that its earlier ones can't be relied on. */
  isSilent(now: MonotonicMs): boolean {
    return this.askedAt !== undefined && now - this.askedAt > SILENCE;
  }

  /** Whether the store may know this owner, though it was not granted the lock. */
  get mayBeStored(): boolean {
    return this.isAnswered || this.inDoubt || this.isAsking;
  }

  /** Whether it can serve this caller. */
  suits({ limit, permits }: { readonly limit: number; readonly permits: number }): boolean {
    return this.limit === limit && this.permits === permits;
  }

  /** The last request may still be carried out. */
  doubtRequest(): void {
    this.shortestInDoubt = Math.min(this.shortestInDoubt, this.askedLease);
  }

  /** The store has granted the lock. */
  granted(grant: Grant & Pick<PushedGrant, 'turnFrom'>, times: GrantTimes): void {
    const { startedAt, began, deadline, leaseTime } = times;
    this.state = 'held';
    this.caller = this.askedFor = this.pushed = undefined;
    this.grant = grant;
    this.times = times;
    this.renewedAt = startedAt;
    this.deadline = deadline;
    if (leaseTime !== undefined) this.wantedUntil = deadlineOf(startedAt, leaseTime);
    this.sureUntil = (began + deadline - startedAt) as SuspendSafeMs;
    this.margin = marginOf(deadline - startedAt);
  }

  get startedAt(): MonotonicMs {
    return this.times?.startedAt ?? NEVER;
  }

  get began(): SuspendSafeMs {
    return this.times?.began ?? (Infinity as SuspendSafeMs);
  }

  get unclaimed(): boolean {
    return this.times?.unclaimed === true;
  }

  get local(): boolean {
    return this.grant?.local === true;
  }

  /** The caller's own lease; undefined if the watchdog renews it. */
  get leaseTime(): number | undefined {
    return this.times?.leaseTime;
  }

  /** The token of its first hold, the only one that the store knows. */
  get firstToken(): number {
    return this.grant?.token ?? NaN;
  }

  /**
   * Whether the hold of another call may begin on it. Not with a `leaseTime`, which has to be in the store before its
   * hold starts; nor if it was extended, which would outlive a crash of the next holder for too long; nor if it is local,
   * since the next hold must be in the store; nor while its hold is being broken, which would also break the next one.
   */
  get isTransferable(): boolean {
    const isOfThisHold = this.isExtended || this.inDoubt || this.local || this.breaks > 0;
    return this.leaseTime === undefined && !isOfThisHold;
  }

  /** The store has confirmed it, by a request sent at this time (on both clocks). Deadlines only ever move later. */
  confirm(sentAt: MonotonicMs, sentCautiously: SuspendSafeMs, deadline: MonotonicMs): void {
    if (deadline > this.deadline) this.deadline = deadline;
    // The store still has a ticket that has ended by the cautious clock: that clock was too cautious.
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
    const since = this.grant?.since ?? NaN;
    return (time === this.startedAt ? since : Math.round(since + time - this.startedAt)) as WallClockMs;
  }

  /** How often it may pass on here. Created on first use: most tickets end before. */
  get turn(): Turn {
    if (this.madeTurn === undefined) {
      const { startedAt } = this;
      const { token = NaN, tokens = 1, othersWait = false, turn, turnFrom = startedAt } = this.grant ?? {};
      const handOvers = this.isForReaders ? Infinity : turn === undefined ? undefined : tokens - 1;
      const bounds = { handOvers, tenure: turn };
      this.madeTurn = new Turn(token + 1, tokens - 1, othersWait, turnFrom, startedAt, bounds);
    }
    return this.madeTurn;
  }

  /** How many holds use it. */
  get users(): number {
    return this.readers?.size ?? (this.holder === undefined ? 0 : 1);
  }

  /** The holds that use it, oldest first. */
  get holders(): readonly TicketUser[] {
    if (this.readers !== undefined) return [...this.readers];
    return this.holder === undefined ? [] : [this.holder];
  }

  has(holder: TicketUser): boolean {
    return this.holder === holder || this.readers?.has(holder) === true;
  }

  /** A hold on it begins. */
  addHolder(holder: TicketUser): void {
    this.isIdle = false;
    this.releasedBy = undefined;
    if (this.isForReaders) (this.readers ??= new Set<TicketUser>()).add(holder);
    else this.holder = holder;
  }

  /** A hold on it has ended. */
  removeHolder(holder: TicketUser): void {
    this.readers?.delete(holder);
    this.holder = undefined;
  }

  loseTo(error: LockLostError): void {
    for (const holder of this.holders) holder.loseTo(error);
  }

  /** Keeps the lock held until this time even if its holds end sooner. */
  keepUntil(time: MonotonicMs): void {
    if (this.keptUntil === undefined || time > this.keptUntil) this.keptUntil = time;
  }

  /** While it waits, of its next request; once it is held, of its deadline, by a timer that keeps no process alive. */
  fire(): void {
    this.line.onDue(this);
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
