import { type BackgroundRetry, pauseBefore, type RetriedRequest } from '../common/background-retry.js';
import { type Clock, deadlineOf, later, SuspendAwareClock } from '../common/clock.js';
import { type Pending, whenReplied } from '../common/deferred.js';
import { inMs } from '../common/durations.js';
import { LinkedQueue } from '../common/linked-queue.js';
import { CallbackTimer, type Timer, TimerQueue } from '../common/timer-queue.js';
import type { ReleaseOutcome } from '../model/lock-handle.js';
import { LockLostError, type LockLostReason } from '../model/lock.errors.js';
import {
  type Grant,
  LockStoreError,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
  type PushedGrant,
  type ReleaseReply,
  type RenewReply,
  type ReserveReply,
} from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';
import { LongHolds } from './long-holds.js';
import { renew, renewTickets } from './renewals.js';
import type { EventHub } from './report/event-hub.js';
import type { LockReporter } from './report/lock-reporter.js';
import type { StoreReporter } from './report/store-reporter.js';
import { checkToken, type Ticket, type TicketUser } from './ticket.js';

const NEVER = Infinity as MonotonicMs;
const MICROTASK = Promise.resolve();
const NO_RESERVATION: PromiseLike<ReserveReply | undefined> = Promise.resolve(undefined);

/** If the clocks disagree by more than this, ms, the store is asked how much of a lease is left. */
const DISAGREEMENT = 500;

/** An outcome of a release that is known at once, or comes with the store's reply. */
export type Released = ReleaseOutcome | Pending<ReleaseOutcome>;

/** The parts of the engine that tickets use. */
export interface TicketContext {
  readonly watchdogTimeout: number;
  readonly clock: Clock;
  readonly session: LockStoreSession;
  readonly backgroundRetry: BackgroundRetry;
  readonly hub: EventHub;
  readonly reporter: LockReporter;
  readonly storeReporter: StoreReporter;
}

/** A ticket that could not be extended, and why. */
export interface FailedExtension {
  readonly ticket: Ticket;
  readonly failure: LockStoreError;
}

/** All tickets of this process; and for those that are held: deadlines, renewal, loss and release. */
export class Tickets {
  /** Those that wait or are held, for the store's messages about their owners. */
  readonly byOwner = new Map<string, Ticket>();
  /** In the order of their grants. */
  readonly held = new LinkedQueue<Ticket>();
  /** Holds older than `warnHeldAfter`. */
  readonly long: LongHolds;
  private readonly watchdog: Watchdog;
  private readonly cautious: SuspendAwareClock;
  /** Timers that don't keep the process alive. */
  private readonly timers: TimerQueue;
  /** Tickets whose holds have ended, but whose locks stay held for `holdAtLeast`. */
  private readonly kept = new Map<OwnerId, KeptTicket>();
  /** Tickets that were lost at shutdown, and their holds whose work has not ended. */
  private readonly abandoned = new Map<Ticket, Set<TicketUser>>();
  private isWatchingSoon = false;
  private onDrained: (() => void) | undefined;

  constructor(
    private readonly engine: TicketContext,
    warnHeldAfter: number,
  ) {
    const { clock, reporter } = engine;
    this.timers = new TimerQueue(clock, false);
    this.long = new LongHolds(this.held, clock, reporter, this.timers, warnHeldAfter);
    this.cautious = new SuspendAwareClock(clock, this.wallClockJumped);
    this.watchdog = new Watchdog(engine, this, this.cautious, this.timers);
  }

  // Grants

  /** The time, for a request that is sent next; see {@link SuspendAwareClock.sendingAt}. */
  sendingAt(): MonotonicMs {
    return this.cautious.sendingAt();
  }

  /** Whether a lease that began no earlier than `startedAt` may have ended, so that no hold may begin on it. */
  mayBeOver(startedAt: MonotonicMs, lease: number): boolean {
    return deadlineOf(this.cautious.at(startedAt), this.unrenewed(lease)) <= this.cautious.read();
  }

  /**
   * The store has granted the lock.
   *
   * @param startedAt the earliest time when the lease may have begun
   * @param lease how long it lasts, ms
   * @param leaseTime the caller's own lease; undefined if the watchdog renews it
   */
  granted(
    ticket: Ticket,
    grant: Grant & Pick<PushedGrant, 'turnFrom'>,
    startedAt: MonotonicMs,
    lease: number,
    leaseTime: number | undefined,
    unclaimed: boolean,
  ): void {
    const deadline = deadlineOf(startedAt, this.unrenewed(lease));
    const began = this.cautious.at(startedAt);
    checkToken(grant.token);
    ticket.granted(grant, { startedAt, began, deadline, unclaimed, leaseTime });
    this.held.join(ticket);
    this.watchSoon();
    this.engine.storeReporter.granted();
  }

  // What is known

  /**
   * ms for which the ticket is surely held: 0 or less for a good one that may have ended because the wall clock jumped
   * ahead after the store had confirmed it.
   */
  sureFor(ticket: Ticket, now = this.engine.clock.monotonic()): number {
    return ticket.sureFor(now, this.cautious.read(now));
  }

  isSure(ticket: Ticket, now?: MonotonicMs): boolean {
    return this.sureFor(ticket, now) > 0;
  }

  /** For display, in whole ms. */
  remaining(ticket: Ticket): number {
    return Math.max(0, Math.floor(this.sureFor(ticket)));
  }

  /** Resolves when none are held. */
  drained(): Promise<void> {
    if (this.held.size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.onDrained = resolve));
  }

  // Renewal

  /** The ticket is lost at its deadline unless it is renewed. */
  watchDeadline(ticket: Ticket): void {
    this.timers.set(ticket, ticket.deadline);
  }

  /** The time of {@link watchDeadline} has come. */
  onDeadline(ticket: Ticket): void {
    if (ticket.state !== 'held' || this.expire(ticket, this.engine.clock.monotonic())) return;
    this.watchDeadline(ticket);
  }

  /** Renews tickets now, to find out whether the store still has them: it may have lost its data of these keys. */
  verify(concerns?: (key: string) => boolean): void {
    for (const ticket of [...this.held]) if (concerns?.(ticket.key) ?? true) this.watchdog.verify(ticket);
  }

  /** The same for one ticket. Nothing is sent while such a request is pending, unless the store may have lost it since. */
  verifyOne(ticket: Ticket, evenIfPending = false): void {
    if (ticket.state === 'held' && (evenIfPending || !ticket.isBeingVerified)) this.watchdog.verify(ticket);
  }

  /** The store is reachable again: repeats failed renewals at once. */
  retryNow(): void {
    this.watchdog.retryNow();
  }

  /** Reserves tokens for the next holds on a ticket, and renews it by the same request. A failure shows at the next renewal. */
  reserve(ticket: Ticket, tokens: number, done: () => void): void {
    this.watchdog.reserve(ticket, tokens, done);
  }

  /** The store replied to a renewal; the new deadline counts from before that was sent. */
  onRenewed(ticket: Ticket, reply: RenewReply, sentAt: MonotonicMs, term: number): void {
    this.engine.storeReporter.requestEnded(undefined);
    if (ticket.state !== 'held') return;
    if (reply !== 'renewed') {
      const story = reply === 'taken' ? 'another caller holds it' : 'the store no longer has it';
      this.lose(ticket, reply === 'taken' ? 'taken' : 'expired', story);
      // A late copy of the request that acquired it must not bring it back.
      if (ticket.inDoubt) void this.requestRelease(ticket);
      return;
    }
    if (this.expire(ticket, this.engine.clock.monotonic())) return;
    ticket.renewalFailure = undefined;
    const deadline = deadlineOf(sentAt, this.unrenewed(term));
    ticket.confirm(sentAt, this.cautious.at(sentAt), deadline);
    if (ticket.leaseTime === undefined) this.timers.clear(ticket);
    else if (this.unrenewed(term) < term) this.watchdog.renewUntil(ticket, deadlineOf(sentAt, term), sentAt);
    if (this.engine.hub.observed) this.engine.reporter.renewed(ticket, this.remaining(ticket));
  }

  /**
   * Makes tickets last at least `ms` from now; returns the first failure. A ticket that the store no longer has is marked
   * lost, which is not a failure.
   */
  async extend(tickets: readonly Ticket[], ms: number): Promise<FailedExtension | undefined> {
    // Before any await: a ticket whose hold ends meanwhile must not pass on.
    if (ms > this.engine.watchdogTimeout) for (const ticket of tickets) ticket.isExtended = true;
    const sentAt = this.sendingAt();
    const wanted = deadlineOf(sentAt, ms) - sentAt;
    const due = tickets.filter((ticket) => {
      const sureFor = this.sureFor(ticket, sentAt);
      return sureFor <= 0 || sureFor < wanted;
    });
    let failed: FailedExtension | undefined;
    await renewTickets(
      this.engine.session,
      due,
      () => ms,
      (ticket, outcome) => {
        if (outcome instanceof LockStoreError) failed ??= { ticket, failure: outcome };
        else this.onRenewed(ticket, outcome, sentAt, ms);
      },
    );
    return failed;
  }

  // The end of a hold

  /**
   * Ends a hold on a ticket: the lock passes to the next caller of this process, or is released in the store.
   *
   * @param mayLinger whether the lock may be released a moment later
   */
  release(ticket: Ticket, hold: TicketUser, endedAt: MonotonicMs, mayLinger: boolean): Released {
    let now = endedAt;
    ticket.removeHolder(hold);
    if (this.engine.hub.observed) {
      this.engine.reporter.released(hold, now - hold.heldFrom);
      // Listeners may take longer than the lease lasts, or release the last other hold on it.
      now = this.engine.clock.monotonic();
      this.expire(ticket, now);
      if (ticket.state !== 'held') return this.outcomeOf(ticket);
    }
    // Other readers of this process use it.
    if (ticket.users > 0) return 'released';
    const { keptUntil, line } = ticket;
    if (keptUntil !== undefined && now < keptUntil) return this.releaseLater(ticket, hold, keptUntil, now);
    ticket.releasedBy = hold;
    const outcome = line.onHoldEnded(ticket, mayLinger);
    // Listeners of timeouts found just now may have let a reader begin on it.
    if (outcome !== undefined || ticket.users > 0) return outcome ?? 'released';
    // The line may have noticed that it has ended.
    return ticket.state === 'held' ? this.releaseUnused(ticket) : this.outcomeOf(ticket);
  }

  /** Returns a ticket without holds to the store. */
  releaseUnused(ticket: Ticket): Pending<ReleaseOutcome> {
    const outcome = this.requestRelease(ticket, ticket.releasedBy);
    ticket.released = outcome;
    this.end(ticket, 'gone');
    ticket.line.onTicketEnded(ticket);
    return outcome;
  }

  /** Keeps the lock held until this time although its hold has ended (`holdAtLeast`), even if this process dies. */
  private releaseLater(ticket: Ticket, hold: TicketUser, end: MonotonicMs, now: MonotonicMs): Released {
    const wasSure = this.isSure(ticket, now);
    const kept = new KeptTicket(ticket, hold, wasSure, this, this.engine, end, (isThere) => {
      // Broken, or left to the store.
      if (!this.kept.has(ticket.owner)) return;
      this.forgetKept(ticket.owner);
      if (isThere) void this.requestRelease(ticket);
    });
    this.kept.set(ticket.owner, kept);
    this.timers.set(kept, end);
    const outcome = this.engine.backgroundRetry.run(kept);
    this.end(ticket, 'gone');
    ticket.line.onTicketEnded(ticket);
    return outcome;
  }

  private forgetKept(owner: OwnerId): void {
    const kept = this.kept.get(owner);
    if (kept === undefined) return;
    this.kept.delete(owner);
    this.timers.clear(kept);
  }

  /**
   * P33: ended at once for us; repeated until the store has carried it out, or until the lease has ended anyway.
   *
   * @param hold the hold whose release this is; it was lost if the store no longer has the ticket
   */
  private requestRelease(ticket: Ticket, hold?: TicketUser): Pending<ReleaseOutcome> {
    const request = new TicketRelease(ticket, hold, this.isSure(ticket), this, this.engine);
    return this.engine.backgroundRetry.run(request);
  }

  /**
   * The reply to the end of a ticket shows that the store no longer had it.
   *
   * @param wasInDoubt whether an earlier request to end it may have been carried out
   * @param wasSure whether the store surely had it when its hold ended
   */
  onAlreadyGone(
    ticket: Ticket,
    hold: TicketUser | undefined,
    wasInDoubt: boolean,
    wasSure: boolean,
  ): ReleaseOutcome {
    if (wasInDoubt) return wasSure ? 'released' : 'expired';
    const now = this.engine.clock.monotonic();
    // After the deadline it may only have ended by itself, after the hold had ended.
    if (hold === undefined || now >= ticket.deadline) return 'expired';
    const { key } = hold;
    const story = 'the store no longer had it when it was released';
    const error = new LockLostError(`The lock "${key}" was lost: ${story}.`, {
      keys: [key],
      reason: 'expired',
    });
    hold.wasLost(error);
    this.engine.reporter.lost(new Map([[hold, now - hold.heldFrom]]), error, now, true);
    return 'expired';
  }

  /**
   * Removes an owner without a hold from the store, whatever its state; resolves when that is done or continues in the
   * background: a stopped server or a slow network may delay a request for any time. Returns whether it is done.
   */
  withdraw(key: string, owner: OwnerId, inDoubt: boolean): Promise<boolean> {
    const attempt = async (failedInDoubt: boolean): Promise<ReleaseReply> => {
      try {
        const request = { key, owner, wasGranted: false, inDoubt: inDoubt || failedInDoubt };
        return await this.engine.session.release(request);
      } catch (error) {
        // Only what may still succeed is repeated for ever.
        if (storeFailure(error).retryable) throw error;
        return 'not-held';
      }
    };
    const until = (): MonotonicMs => NEVER;
    const replied = (): boolean => true;
    return this.engine.backgroundRetry.run({ attempt, until, replied, withoutReply: false }).promise;
  }

  // Loss

  /** Ends the ticket if its lease has run out. The one place where time ends a ticket. Returns whether it did. */
  expire(ticket: Ticket, now: MonotonicMs): boolean {
    if (ticket.state !== 'held' || now < ticket.deadline) return false;
    const { leaseTime, renewalFailure, isRenewed } = ticket;
    if (renewalFailure !== undefined && isRenewed) {
      this.lose(ticket, 'unreachable', `it could not be renewed in time (${renewalFailure.message})`);
    } else if (leaseTime !== undefined && !isRenewed) {
      this.lose(ticket, 'expired', `its leaseTime of ${inMs(leaseTime)} has passed`);
    } else {
      this.lose(
        ticket,
        'expired',
        'the process was stopped or its event loop blocked for longer than the lease',
      );
    }
    // The store may keep it a little longer than we relied on it.
    void this.requestRelease(ticket);
    return true;
  }

  /** The store has granted the lock again, which it would not have done if it still had this ticket. */
  supersede(ticket: Ticket): void {
    if (ticket.state !== 'held') return;
    this.lose(ticket, 'expired', 'the store no longer has it');
    // A fallback store keeps the owner until it is released, and so do members of a quorum that have not lost it.
    void this.requestRelease(ticket);
  }

  /** The store reports that the hold of this owner was broken by force. */
  onBroken(owner: OwnerId): void {
    this.forgetKept(owner);
    const ticket = this.byOwner.get(owner);
    if (ticket === undefined) return;
    if (ticket.state !== 'held') {
      ticket.line.onBroken(ticket);
      return;
    }
    this.lose(ticket, 'taken', 'it was released by force');
    // The message may be about an earlier grant of this owner, which holds the lock again.
    void this.requestRelease(ticket);
  }

  private lose(ticket: Ticket, reason: LockLostReason, story: string): void {
    // A listener may have ended it meanwhile.
    if (ticket.state !== 'held') return;
    this.end(ticket, 'lost');
    if (ticket.users > 0) {
      const error = new LockLostError(`The lock "${ticket.key}" was lost: ${story}.`, {
        keys: [ticket.key],
        reason,
        ...(ticket.renewalFailure !== undefined && { cause: ticket.renewalFailure }),
      });
      const now = this.engine.clock.monotonic();
      const heldFor = new Map(ticket.holders.map((hold) => [hold, now - hold.heldFrom]));
      ticket.loseTo(error);
      this.engine.reporter.lost(heldFor, error, now);
    }
    ticket.line.onTicketEnded(ticket);
  }

  // Shutdown

  /** Shutdown can't wait any longer: held tickets are left to expire, never released while their work runs. */
  abandonAll(): void {
    for (const ticket of [...this.held]) {
      this.abandoned.set(ticket, new Set(ticket.holders));
      this.lose(
        ticket,
        'unreachable',
        'the application shut down before its work ended; it is left to expire',
      );
    }
  }

  /** The work of a hold has ended: after the last one, the store need not keep an abandoned ticket until it expires. */
  releaseAbandoned(ticket: Ticket, hold: TicketUser): void {
    const holders = this.abandoned.get(ticket);
    if (holders?.delete(hold) !== true || holders.size > 0) return;
    this.abandoned.delete(ticket);
    const isKept = ticket.keptUntil !== undefined && this.engine.clock.monotonic() < ticket.keptUntil;
    if (!isKept) void this.requestRelease(ticket);
  }

  /** Leaves locks that stay held for `holdAtLeast` to the store. */
  leaveKept(): void {
    for (const owner of [...this.kept.keys()]) this.forgetKept(owner);
  }

  close(): void {
    this.abandoned.clear();
    this.timers.close();
  }

  // Inside

  /** Verifies tickets with much less time left than it seems. */
  private readonly wallClockJumped = (): void => {
    const now = this.engine.clock.monotonic();
    const cautiousNow = this.cautious.read(now);
    for (const ticket of [...this.held]) {
      const sureFor = ticket.sureFor(now, cautiousNow);
      if (sureFor <= 0 || sureFor < ticket.deadline - now - DISAGREEMENT) this.verifyOne(ticket);
    }
  };

  /** How long the store keeps a lease without a renewal, ms. */
  private unrenewed(lease: number): number {
    return Math.min(lease, this.engine.session.longestUnrenewed ?? Infinity);
  }

  /**
   * At the end of the tick: a hold that ends before needs neither timers nor a claim. After the microtasks, whether or not
   * the grant came in one of them.
   */
  private watchSoon(): void {
    if (this.isWatchingSoon) return;
    this.isWatchingSoon = true;
    void MICROTASK.then(() => process.nextTick(this.watchNewcomers));
  }

  private readonly watchNewcomers = (): void => {
    this.isWatchingSoon = false;
    let ticket = this.held.last;
    while (ticket?.isWatched === false) {
      // Read first, since a ticket that ends leaves the list.
      const { previous } = ticket;
      ticket.isWatched = true;
      // The watchdog watches the deadline of a ticket that it renews.
      if (ticket.leaseTime !== undefined) this.watchDeadline(ticket);
      this.watchdog.watch(ticket);
      this.long.watch(ticket);
      ticket = previous;
    }
  };

  private end(ticket: Ticket, state: 'gone' | 'lost'): void {
    ticket.state = state;
    this.byOwner.delete(ticket.owner);
    if (ticket.heapIndex !== -1) this.timers.clear(ticket);
    this.held.leave(ticket);
    if (ticket.isWatched) {
      this.watchdog.unwatch(ticket);
      if (this.held.size === 0) this.long.rest();
    }
    if (this.held.size === 0) this.onDrained?.();
  }

  /** The outcome of a hold on a ticket that has ended while the hold did. */
  private outcomeOf(ticket: Ticket): Released {
    return ticket.state === 'lost' ? 'expired' : (ticket.released ?? 'released');
  }
}

/** The last request of a ticket, repeated until the store has carried it out. */
abstract class LastRequest<Reply> implements RetriedRequest<Reply, ReleaseOutcome> {
  readonly withoutReply = 'unknown';
  private wasInDoubt = false;

  /**
   * @param hold the hold that has ended
   * @param wasSure whether the store surely had the ticket then
   */
  constructor(
    protected readonly ticket: Ticket,
    private readonly hold: TicketUser | undefined,
    private readonly wasSure: boolean,
    private readonly tickets: Tickets,
    protected readonly engine: TicketContext,
  ) {}

  protected abstract send(inDoubt: boolean): PromiseLike<Reply>;
  protected abstract wasThere(reply: Reply): boolean;
  abstract until(): MonotonicMs;

  attempt(inDoubt: boolean): PromiseLike<Reply> {
    this.wasInDoubt = inDoubt;
    return this.send(inDoubt);
  }

  replied(reply: Reply): ReleaseOutcome {
    if (this.wasThere(reply)) return 'released';
    return this.tickets.onAlreadyGone(this.ticket, this.hold, this.wasInDoubt, this.wasSure);
  }
}

class TicketRelease extends LastRequest<ReleaseReply> {
  until(): MonotonicMs {
    const now = this.engine.clock.monotonic();
    return later(now, Math.max(this.ticket.deadline - now, this.engine.watchdogTimeout));
  }

  protected send(inDoubt: boolean): PromiseLike<ReleaseReply> {
    const { key, owner } = this.ticket;
    const request = { key, owner, wasGranted: true, inDoubt: inDoubt || this.ticket.inDoubt };
    return this.engine.session.release(request);
  }

  protected wasThere(reply: ReleaseReply): boolean {
    return reply === 'released';
  }
}

/** A delayed release, and the request that makes the store end the lease in time. */
class KeptTicket extends LastRequest<RenewReply> implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private isUnderWay = false;
  private isDue = false;

  /** @param over called with whether the store may still have the ticket */
  constructor(
    ticket: Ticket,
    hold: TicketUser,
    wasSure: boolean,
    tickets: Tickets,
    engine: TicketContext,
    private readonly keptUntil: MonotonicMs,
    private readonly over: (isThere: boolean) => void,
  ) {
    super(ticket, hold, wasSure, tickets, engine);
  }

  /** The release must not overtake the request, which would find no lease and report the hold as lost. */
  fire(): void {
    this.isDue = true;
    if (!this.isUnderWay) this.over(true);
  }

  until(): MonotonicMs {
    return this.keptUntil;
  }

  protected async send(): Promise<RenewReply> {
    const { key, owner } = this.ticket;
    this.isUnderWay = true;
    let isThere = true;
    try {
      const left = Math.max(1, Math.ceil(this.keptUntil - this.engine.clock.monotonic()));
      const [outcome] = await renew(this.engine.session, [{ key, owner, lease: left, exactly: true }]);
      if (outcome instanceof LockStoreError) throw outcome;
      isThere = outcome === 'renewed';
      return outcome ?? 'gone';
    } finally {
      this.isUnderWay = false;
      if (this.isDue || !isThere) this.over(isThere);
    }
  }

  protected wasThere(reply: RenewReply): boolean {
    return reply === 'renewed';
  }
}

/** Renews tickets without a `leaseTime`: one timer, requests in batches. */
class Watchdog {
  /** Tickets that wait for their renewal, longest wait first: all wait for the same time. */
  private readonly rounds = new Set<Ticket>();
  private readonly nextRound = new CallbackTimer((now) => this.renewOldest(now));
  private readonly batch = new Set<Ticket>();
  /** Tickets whose last renewal failed, and that are renewed again together. */
  private readonly failing = new Set<Ticket>();
  /** Failures since the last success. */
  private failures = 0;
  private readonly retry = new CallbackTimer(() => this.retryNow());

  constructor(
    private readonly engine: TicketContext,
    private readonly tickets: Tickets,
    private readonly cautious: SuspendAwareClock,
    private readonly timers: TimerQueue,
  ) {}

  watch(ticket: Ticket): void {
    // A pushed grant lasts only for its short claim lease; the first renewal claims it for the lease that was requested.
    if (ticket.unclaimed) this.due(ticket);
    else if (ticket.isRenewed) this.renewLater(ticket);
  }

  /** Renews a ticket with a `leaseTime` until this time, since the store does not keep it that long without a renewal. */
  renewUntil(ticket: Ticket, end: MonotonicMs, renewedAt: MonotonicMs): void {
    ticket.wantedUntil = Math.max(ticket.wantedUntil, end) as MonotonicMs;
    this.renewed(ticket, renewedAt);
  }

  unwatch(ticket: Ticket): void {
    this.leaveRounds(ticket);
    this.forgetFailure(ticket);
  }

  verify(ticket: Ticket): void {
    ticket.isBeingVerified = true;
    this.leaveRounds(ticket);
    this.due(ticket);
  }

  reserve(ticket: Ticket, tokens: number, done: () => void): void {
    const { key, owner, turn } = ticket;
    const sentAt = this.cautious.sendingAt();
    const term = this.engine.watchdogTimeout;
    const replied = (reply: ReserveReply | undefined): void => {
      if (reply?.outcome === 'reserved' && Number.isSafeInteger(reply.token)) {
        turn.reserved(reply.token, tokens, reply.othersWait, sentAt);
        this.tickets.onRenewed(ticket, 'renewed', sentAt, term);
        this.renewed(ticket, sentAt);
      } else {
        turn.reservationFailed();
        // A custom store may not reply, or reserve an invalid token.
        if (reply !== undefined && reply.outcome !== 'reserved')
          this.tickets.onRenewed(ticket, reply.outcome, sentAt, term);
      }
      done();
    };
    const request = { key, owner, lease: term, isRenewed: true, tokens };
    whenReplied(this.engine.session.reserve?.(request) ?? NO_RESERVATION, replied, () => replied(undefined));
  }

  retryNow(): void {
    for (const ticket of [...this.failing]) {
      this.forgetFailure(ticket);
      this.due(ticket);
    }
  }

  /** ms after which a ticket is renewed. */
  private get interval(): number {
    return Math.min(this.engine.watchdogTimeout, this.engine.session.longestUnrenewed ?? Infinity) / 3;
  }

  /** The ticket was renewed by a request sent at this time. */
  private renewed(ticket: Ticket, sentAt: MonotonicMs): void {
    this.forgetFailure(ticket);
    ticket.renewedAt = sentAt;
    if (!ticket.isWatched || ticket.state !== 'held') return;
    this.rounds.delete(ticket);
    if (ticket.isRenewed) this.renewLater(ticket);
  }

  private leaveRounds(ticket: Ticket): void {
    if (this.rounds.delete(ticket) && this.rounds.size === 0) this.timers.clear(this.nextRound);
  }

  private renewLater(ticket: Ticket): void {
    this.rounds.add(ticket);
    if (this.rounds.size === 1) this.timers.set(this.nextRound, later(ticket.renewedAt, this.interval));
  }

  private renewOldest(now: MonotonicMs): void {
    this.cautious.read();
    // Tickets that are nearly due are renewed along with one that is.
    const dueFrom = now - this.interval + this.interval / 10;
    for (const ticket of this.rounds) {
      if (ticket.renewedAt > dueFrom) {
        this.timers.set(this.nextRound, later(ticket.renewedAt, this.interval));
        return;
      }
      this.rounds.delete(ticket);
      this.due(ticket);
    }
  }

  private due(ticket: Ticket): void {
    this.tickets.watchDeadline(ticket);
    this.batch.add(ticket);
    if (this.batch.size === 1) void MICROTASK.then(this.renewDue);
  }

  private readonly renewDue = (): void => {
    const now = this.engine.clock.monotonic();
    const batch = [...this.batch];
    this.batch.clear();
    for (const ticket of batch) this.tickets.expire(ticket, now);
    const due = batch.filter((ticket) => ticket.isGood(now));
    const sentAt = this.cautious.sendingAt();
    void renewTickets(
      this.engine.session,
      due,
      (ticket) => this.termOf(ticket, sentAt),
      (ticket, outcome, term) => {
        if (outcome instanceof LockStoreError) this.failed(ticket, outcome);
        else this.answered(ticket, outcome, sentAt, term);
      },
    );
  };

  /** The lease to request, ms. */
  private termOf(ticket: Ticket, sentAt: MonotonicMs): number {
    const { leaseTime, startedAt } = ticket;
    if (leaseTime === undefined) return this.engine.watchdogTimeout;
    // A `leaseTime` ends when it would have ended without this request. A claim sets the whole of it, which a jump of
    // the wall clock must not shorten; a later renewal subtracts such a jump, unless `extend()` came after it.
    const isClaim = ticket.unclaimed && ticket.renewedAt === startedAt;
    const age = isClaim ? sentAt - startedAt : this.cautious.at(sentAt) - ticket.began;
    const isExtended = ticket.wantedUntil > startedAt + leaseTime;
    const left = isExtended ? ticket.wantedUntil - sentAt : leaseTime - age;
    return Math.max(1, Math.ceil(left));
  }

  private answered(ticket: Ticket, reply: RenewReply, sentAt: MonotonicMs, term: number): void {
    ticket.isBeingVerified = false;
    this.tickets.onRenewed(ticket, reply, sentAt, term);
    this.renewed(ticket, sentAt);
    this.failures = 0;
  }

  /** Retried until the deadline, which a failure never moves. */
  private failed(ticket: Ticket, error: LockStoreError): void {
    const now = this.engine.clock.monotonic();
    if (ticket.state !== 'held' || this.tickets.expire(ticket, now)) return;
    ticket.renewalFailure = error;
    this.engine.storeReporter.requestEnded(error);
    this.failing.add(ticket);
    if (this.retry.heapIndex === -1) {
      const pause = Math.min(pauseBefore(this.failures), this.interval / 2);
      this.failures += 1;
      this.timers.set(this.retry, later(now, pause));
    }
    // Last, since a listener may end the hold.
    const { hub, reporter } = this.engine;
    if (hub.observed) reporter.renewalFailed(ticket, this.tickets.remaining(ticket), error);
  }

  private forgetFailure(ticket: Ticket): void {
    if (this.failing.delete(ticket) && this.failing.size === 0) this.timers.clear(this.retry);
  }
}
