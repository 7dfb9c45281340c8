import { pauseBefore } from '../common/background-retry.js';
import { later } from '../common/clock.js';
import { CallsInFlight, type Pending, whenReplied } from '../common/deferred.js';
import { LinkedQueue } from '../common/linked-queue.js';
import type { Timer } from '../common/timer-queue.js';
import type { ReleaseOutcome } from '../model/lock-handle.js';
import { limitsAgree, permitsOf } from '../stores/port/limits.js';
import type {
  AcquireReply,
  Grant,
  LockStoreError,
  MonotonicMs,
  OwnerId,
  PushedGrant,
} from '../stores/port/lock-store.js';
import { isCutOff } from '../stores/port/forwarding-session.js';
import { storeFailure, unusableReply } from '../stores/port/store-failure.js';
import type { Hold, HoldContext, WaitingPlace } from './hold.js';
import { holderAmong, type HolderContext, warnOfLongWait, withHolder } from './holder-names.js';
import { isLeaseTooShort, type KnownHolder, lateAnswer, type LeaseLeft } from './report/lock-reporter.js';
import { checkToken, Ticket, type TicketLine } from './ticket.js';
import { ANSWER_GRACE, CLAIM_LEASE, LATEST_OUTCOME, POLL, POLL_JITTER, SILENCE } from './time-limits.js';
import { maxTokens, tokensFor, type Turn } from './turn.js';
import type { EndOfWait } from './wait.js';

const NONE: readonly never[] = [];
const MICROTASK = Promise.resolve();

/** The most tickets of one process that wait for one key: enough to fill every freed permit, and few enough to poll. */
const MAX_WAITING_TICKETS = 64;

/** For how many microtask turns a ticket of readers stays idle: a reader may be that many `await`s away. */
const LINGERING = 8;

/** The parts of the engine that lines use. */
export interface LineContext extends HoldContext, HolderContext {
  /** Whether new calls are refused. */
  readonly isClosing: boolean;
  /** An owner id, used for one ticket. */
  nextOwner(): OwnerId;
  /** What the store reported about a holder's lease. */
  leaseLeft(ms: number | undefined): LeaseLeft | undefined;
}

/** Why a call gets an error instead of the lock. */
type Refusal = 'aborted' | 'closed' | 'out-of-time' | 'held here' | 'held elsewhere' | 'late' | 'unavailable';

/** All keys that callers of this process wait for, or hold and may pass on. */
export class Lines {
  private readonly byKey = new Map<string, Line>();

  constructor(private readonly engine: LineContext) {}

  get(key: string): Line | undefined {
    return this.byKey.get(key);
  }

  open(key: string): Line {
    let line = this.byKey.get(key);
    if (line === undefined) {
      line = new Line(key, this.engine, this.onUnused);
      this.byKey.set(key, line);
    }
    return line;
  }

  get all(): readonly Line[] {
    return [...this.byKey.values()];
  }

  /** Every ticket that waits requests again. */
  pollNow(): void {
    for (const line of this.all) line.pollNow();
  }

  private readonly onUnused = (line: Line): void => {
    if (this.byKey.get(line.key) === line) this.byKey.delete(line.key);
  };
}

/**
 * One key of this process: its calls in order, and its tickets. The first call is served by a held ticket of this process
 * if one may pass to it, otherwise by a ticket that waits in the store; {@link Ticket} and {@link Hold} have the tables of
 * their states. Events carry the time, and never nest: one that comes while another is handled waits for its end, and so do
 * notifications of users.
 *
 * After each event `serve` restores what has to hold: every call has a ticket that will serve or wake it, or is behind one
 * that has; no ticket waits, and none is held without a hold, unless a call needs it.
 */
export class Line implements Timer, TicketLine, WaitingPlace {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  /** Calls that wait for their turn. */
  readonly waiting = new LinkedQueue<Hold>();
  /** Calls that may not wait their turn, which send single attempts. */
  readonly trying = new LinkedQueue<Hold>();
  /** The held tickets that may pass from hold to hold. */
  held: readonly Ticket[] = NONE;
  /** Tickets that wait for a call, in the order of the calls. */
  private wanted: readonly Ticket<Hold>[] = NONE;
  /** Tickets without a call, whose replies are pending. */
  private unwanted: readonly Ticket<Hold>[] = NONE;
  /** Tickets that may be at the store though no call needs them, until they are withdrawn or released. */
  readonly leaving = new CallsInFlight();
  /** Why the last request failed, if it did. */
  private failure: LockStoreError | undefined;
  /** Whether the last reply cancelled the request. */
  private wasCancelled = false;
  /** Whether the store has reported the order of holders and waiters, and when it last did. */
  private isTold = false;
  private toldAt = -Infinity;
  /** When the holder's lease ends, if the store has reported it. */
  private freeAt: number | undefined;
  /** Until when the held tickets serve every call like the previous one, so that there is nothing to do for it. */
  private enoughUntil = -Infinity;
  /** The permits of these calls. */
  private enoughFor = 1;
  /** The token of the last holder that a warning of a long wait has named. */
  warnedOf: number | undefined;
  private readonly canReserve: boolean;
  private isInEvent = false;
  /** How many calls are about to join, so that the end of the last ticket does not close the line. */
  private joining = 0;
  /** Events that came during another one, and notifications of users about that one. */
  private next: (() => void)[] | undefined;

  constructor(
    readonly key: string,
    private readonly engine: LineContext,
    private readonly onUnused: (line: Line) => void,
  ) {
    this.canReserve = engine.session.reserve !== undefined;
  }

  // Events of calls

  join(hold: Hold): void {
    this.joining += 1;
    if (this.isInEvent) {
      this.afterEvent(() => {
        this.joining -= 1;
        this.join(hold);
      });
      return;
    }
    hold.place = this;
    const now = this.beginEvent();
    this.joining -= 1;
    try {
      // Most keys are free and used by one call at a time.
      if (this.isUsed) this.onJoined(hold, now);
      else {
        this.waiting.join(hold);
        this.request(this.add(hold, false), hold);
      }
    } finally {
      this.endEvent();
    }
    hold.begin();
  }

  private onJoined(hold: Hold, now: MonotonicMs): void {
    const [first] = this.wanted;
    if (first?.isAnswered === true && !limitsAgree(first.limit, hold.limit)) {
      this.refuse(hold, this.engine.reporter.disagreement(hold, first.limit));
      return;
    }
    this.waiting.join(hold);
    if (hold.needsOwnTicket || !this.serveLikeBefore(now)) this.serve(now);
    if (this.engine.hub.observed && this.surelyWaits(hold, now)) {
      this.engine.reporter.queued(hold, this.leaseLeftAt(now));
    }
  }

  /** The call has timed out, its signal was aborted, or the application shuts down. */
  leave(hold: Hold, why: EndOfWait): void {
    this.handle((now) => {
      if (this.waiting.has(hold)) this.onLeft(hold, why, now);
    });
  }

  /**
   * A call that times out before the store has replied about the lock waits `ANSWER_GRACE` for a pending reply. After a
   * reply, the caller gets its outcome once its ticket has left the store, within limits.
   */
  private onLeft(hold: Hold, end: EndOfWait, now: MonotonicMs): void {
    const isPart = hold.partOf !== undefined;
    const isTimeout = end === 'timeout';
    const why = isTimeout ? this.whyNotServed(hold, now) : end;
    const isNothingKnown = this.isNothingKnown && this.held.length === 0;
    const isUnanswered = isNothingKnown || (why === 'unavailable' && this.failure === undefined);
    if (isTimeout && isUnanswered && !hold.prolonged && !isPart) {
      hold.prolong(now);
      return;
    }
    const error = this.errorOf(hold, why, now);
    this.waiting.leave(hold);
    const freed = this.serve(now);
    if (isTimeout && isPart && freed?.isAsking === true) this.abandon(freed, now);
    // No ticket stays in the store after the caller sees the timeout.
    const isLeaving = (freed !== undefined || this.waiting.size === 0) && this.leaving.size > 0;
    this.refuse(hold, error, isTimeout && isLeaving && (!isUnanswered || isPart));
  }

  onLongWait(hold: Hold): void {
    void warnOfLongWait(this.engine, hold, this);
  }

  /** An attempt is about to request the lock: no idle ticket of this process may be in its way. */
  releaseIdle(): void {
    this.handle((now) => {
      if (this.waiting.size === 0) this.returnIdle(now);
    });
  }

  /** The application shuts down: refuses the selected calls. */
  shutDown(selects: (hold: Hold) => boolean): void {
    for (const hold of [...this.trying]) if (selects(hold)) hold.place?.leave(hold, 'closed');
    this.handle((now) => {
      for (const hold of this.waiting.leaveAll(selects)) this.refuse(hold, this.errorOf(hold, 'closed', now));
      this.serve(now);
    });
  }

  // Events of tickets that wait

  private onReplied(ticket: Ticket<Hold>, reply: AcquireReply): void {
    if (this.isInEvent) {
      this.afterEvent(() => this.onReplied(ticket, reply));
      return;
    }
    if (ticket.state !== 'asking') return;
    try {
      // A custom store may reply anything.
      if (reply.outcome === 'granted') checkToken(reply.token);
    } catch (error) {
      this.onFailed(ticket, unusableReply(error));
      return;
    }
    const now = this.beginEvent();
    try {
      this.engine.storeReporter.answered();
      this.onReply(ticket, reply, now);
    } finally {
      this.endEvent();
    }
  }

  private onReply(ticket: Ticket<Hold>, reply: AcquireReply, now: MonotonicMs): void {
    const { askedFor, isAnswered: wasAnswered } = ticket;
    ticket.askedAt = undefined;
    ticket.isAnswered = true;
    ticket.failures = 0;
    if (reply.outcome === 'queued' || reply.outcome === 'busy') {
      this.onQueued(ticket, reply.holderLeaseLeft, now);
      return;
    }
    if (reply.outcome === 'granted') {
      this.failure = undefined;
      // Others came first until then, even if no call can use the grant.
      if (wasAnswered) this.noteHeld(ticket.sentAt);
      this.onGranted(ticket, reply, now);
      return;
    }
    // A conflict is reported to the caller of the request, even if the ticket now stands for another one: otherwise
    // tickets that pass from call to call would request for ever. A ticket without a call reports it to none: that
    // caller has another ticket.
    if (reply.outcome === 'conflict') {
      this.heard(now);
      if (ticket.caller !== undefined && askedFor !== undefined && this.waiting.has(askedFor)) {
        this.waiting.leave(askedFor);
        this.refuse(askedFor, this.engine.reporter.disagreement(askedFor, reply.limit));
      }
    }
    // A custom store that cancels every request is not asked again at once.
    this.withdraw(ticket, now, undefined, this.wasCancelled);
    this.wasCancelled = true;
  }

  private onFailed(ticket: Ticket<Hold>, error: LockStoreError): void {
    this.handle((now) => {
      if (ticket.state !== 'asking') return;
      if (error.inDoubt) ticket.doubtRequest();
      ticket.askedAt = undefined;
      ticket.wasBroken = false;
      this.failure = error;
      if (error.retryable) {
        if (this.waiting.size > 0) this.engine.storeReporter.waitFailed(error);
        ticket.failures += 1;
        this.pause(ticket, 'pausing', now);
        return;
      }
      // Repeating the request can't help.
      for (const hold of this.waiting.leaveAll())
        this.refuse(hold, this.engine.reporter.unavailable(hold, error));
      this.serve(now);
      // Later, so that a listener that calls again inherits the ticket, and with it the pause before the next request.
      this.afterEvent(() => {
        this.handle((then) => {
          if (ticket.state === 'asking') this.withdraw(ticket, then, error, true);
        });
      });
    });
  }

  onPushed(ticket: Ticket<Hold>, grant: PushedGrant): void {
    this.handle((now) => {
      if (ticket.isTry || !ticket.isWaiting) return;
      ticket.pushed = grant;
      // Others held the lock until this grant began, even if no call can use the grant.
      this.noteHeld(grant.startedAt);
      this.wake(ticket, now);
    });
  }

  onBroken(ticket: Ticket<Hold>): void {
    if (ticket.isTry) {
      ticket.wasBroken = true;
      return;
    }
    this.handle((now) => {
      if (!ticket.isWaiting) return;
      ticket.pushed = undefined;
      ticket.wasBroken = ticket.isAsking;
      this.wake(ticket, now);
    });
  }

  onHeldByOthers(ticket: Ticket<Hold>, holderLeaseLeft: number | undefined): void {
    if (ticket.isTry) {
      ticket.othersAreFirst = true;
      return;
    }
    this.handle((now) => {
      if (!ticket.isWaiting) return;
      if (ticket.isAsking) {
        ticket.askedAt = now;
        this.heard(now);
        this.freeAt = holderLeaseLeft === undefined ? undefined : now + holderLeaseLeft;
      }
      this.engine.storeReporter.answered();
    });
  }

  onDue(ticket: Ticket<Hold>): void {
    if (ticket.state === 'held') {
      this.engine.tickets.onDeadline(ticket);
      return;
    }
    this.handle((now) => {
      if (!ticket.isWaiting) return;
      ticket.state = 'asking';
      this.proceed(ticket, now);
    });
  }

  /** Messages may have been missed: every ticket requests again. */
  pollNow(): void {
    this.handle((now) => {
      for (const ticket of this.wanted) this.wake(ticket, now);
    });
  }

  // Events of held tickets

  /** An attempt has acquired the lock: its ticket may pass on to later calls. */
  adopt(ticket: Ticket): void {
    this.handle((now) => {
      if (ticket.state !== 'held') return;
      for (const each of this.addHeld(ticket)) this.engine.tickets.supersede(each);
      this.serve(now);
    });
  }

  /** Returns undefined if the ticket has left the line, so that the caller releases it. */
  onHoldEnded(ticket: Ticket, mayLinger: boolean): Pending<ReleaseOutcome> | ReleaseOutcome | undefined {
    if (this.isInEvent) return undefined;
    const now = this.beginEvent();
    try {
      // A listener of a loss found just now has let a reader begin on it.
      if (ticket.users > 0 || (this.waiting.size > 0 && this.passOn(ticket, now))) return 'released';
      if (this.waiting.size > 0) return undefined;
      const outcome = mayLinger && ticket.isForReaders ? this.linger(ticket, now) : undefined;
      if (outcome === undefined && this.drop(ticket, now)) this.closeIfUnused();
      return outcome;
    } finally {
      this.endEvent();
    }
  }

  /** Keeps the ticket for readers that are about to come back, if possible; resolves with its outcome. */
  private linger(ticket: Ticket, now: MonotonicMs): Promise<ReleaseOutcome> | undefined {
    const turn = this.turnOf(ticket);
    if (turn === undefined || turn.othersWait || !turn.mayPass(ANY_READER, now)) return undefined;
    if (!ticket.isTransferable || !this.held.includes(ticket) || this.engine.isClosing) return undefined;
    ticket.isIdle = true;
    ticket.lingering = this.releaseSoon(ticket);
    return ticket.lingering.then(() => ticket.released ?? 'released');
  }

  private async releaseSoon(ticket: Ticket): Promise<void> {
    const isKept = (): boolean => ticket.isIdle && ticket.state === 'held';
    for (let turn = 0; turn < LINGERING && isKept() && this.waiting.size === 0; turn++) await MICROTASK;
    ticket.lingering = undefined;
    this.handle((now) => {
      if (!isKept()) return;
      if (this.waiting.size > 0) {
        this.wakeAt(this.turnOf(ticket)?.endsAt ?? now);
        return;
      }
      this.releaseUnused(ticket, now);
      this.closeIfUnused();
    });
  }

  onTicketEnded(ticket: Ticket): void {
    // Most tickets have left with their last hold.
    if (!this.held.includes(ticket)) return;
    this.handle((now) => {
      if (!this.drop(ticket, now)) return;
      if (this.waiting.size > 0 || this.wanted.length > 0 || this.held.length > 0) {
        this.serve(now, this.turnOf(ticket)?.othersWait === true);
      } else this.closeIfUnused();
    });
  }

  private onReserved(ticket: Ticket): void {
    this.handle((now) => {
      if (!this.held.includes(ticket)) return;
      const othersWait = ticket.turn.othersWait;
      if (othersWait) this.noteHeld(now);
      this.enoughUntil = -Infinity;
      if (ticket.isIdle) {
        // Timeouts noticed now may have ended the ticket.
        if (this.passOn(ticket, now) || !this.held.includes(ticket)) return;
        this.releaseUnused(ticket, now);
        this.serve(now, othersWait);
      } else if (ticket.limit !== 1 || this.waiting.first?.fair === true) this.serve(now);
    });
  }

  /** This process has used up its turn on a ticket, and calls still wait. */
  fire(): void {
    this.handle((now) => this.serve(now));
  }

  // What is known

  /** Whether the lock is known to be held, so that the next call has to wait. */
  private isBusy(now: MonotonicMs): boolean {
    if (this.held.some((ticket) => ticket.isGood(now))) return true;
    const [first] = this.wanted;
    return this.failure === undefined && first?.isAnswered === true && !first.isSilent(now);
  }

  /** Whether the store need not be asked for a call with this limit, as it could only reply that the lock is held. */
  keepsOut(limit: number, now = this.engine.clock.monotonic()): boolean {
    const others = this.held[0]?.limit ?? this.wanted[0]?.limit;
    return limit === 1 && others === 1 && this.isBusy(now);
  }

  /** Whether a call that has just joined has to wait, whatever the store will reply. */
  private surelyWaits(hold: Hold, now: MonotonicMs): boolean {
    if (!this.waiting.has(hold)) return false;
    if (this.wanted.length === 0 || this.keepsOut(hold.limit, now)) return this.isBusy(now);
    const [first] = this.wanted;
    const isBehindOthers = this.failure === undefined && first?.isAnswered === true && !first.isSilent(now);
    return isBehindOthers && this.ticketOf(hold) === undefined;
  }

  /** The calls that a ticket stands for in the store's queue. */
  callersAt(ticket: Ticket<Hold>): readonly Hold[] {
    const { caller } = ticket;
    if (caller === undefined || ticket !== this.wanted[0]) return caller === undefined ? [] : [caller];
    return [...this.waiting].filter((each) => each === caller || this.ticketOf(each) === undefined);
  }

  ticketOf(hold: Hold): Ticket<Hold> | undefined {
    return this.wanted.find(({ caller }) => caller === hold);
  }

  /** Tickets that wait in the store. */
  get waitingTickets(): readonly Ticket<Hold>[] {
    return [...this.wanted, ...this.unwanted];
  }

  /** How much of the holder's lease is left; undefined if unknown. */
  get holderLeaseLeft(): LeaseLeft | undefined {
    return this.leaseLeftAt(this.engine.clock.monotonic());
  }

  private leaseLeftAt(now: MonotonicMs): LeaseLeft | undefined {
    const { engine, freeAt } = this;
    const [ticket] = this.held;
    if (ticket?.limit === 1) return { ms: engine.tickets.remaining(ticket), isBound: false };
    return engine.leaseLeft(freeAt === undefined ? undefined : Math.max(0, Math.round(freeAt - now)));
  }

  /** The hold of this process that blocks the waiting calls; one opened by `acquire()` comes first. */
  get ownHolder(): KnownHolder | undefined {
    const holds = this.held.flatMap(({ holders }) => holders);
    return holds.length === 0 ? undefined : holderAmong(holds, this.engine.clientId);
  }

  /** Whether calls wait their turn, or the lock may be held here. */
  get isUsed(): boolean {
    const isAnyHeld = this.waiting.size > 0 || this.held.length > 0;
    return isAnyHeld || this.wanted.length > 0 || this.unwanted.length > 0;
  }

  /** How many calls of this process wait, in their turn or between two attempts. */
  get countWaiting(): number {
    let count = this.waiting.size;
    for (const { isRetrying } of this.trying) if (isRetrying) count += 1;
    return count;
  }

  /** Resolves when no withdrawal or release of this key is pending. */
  async idle(): Promise<void> {
    while (this.leaving.size > 0) await this.leaving.ended();
  }

  private get isNothingKnown(): boolean {
    return !this.isTold && this.failure === undefined;
  }

  /** B11: why a call has not acquired the lock in time. "held" only if the store has reported it recently enough. */
  private whyNotServed(hold: Hold, now: MonotonicMs): Refusal {
    const { held } = this;
    const ticket = hold.limit === 1 ? this.wanted[0] : this.ticketOf(hold);
    // The tickets of this process leave too few permits.
    const isFull = permitsOf(held) + hold.permits > (held[0]?.limit ?? Infinity);
    const isAnyGood = held.some((each) => each.isGood(now));
    const isAllGood = isFull && held.every((each) => each.isGood(now));
    const isHere = isAllGood || (isAnyGood && (hold.limit === 1 || ticket === undefined));
    if (isHere) return 'held here';
    if (hold.lateAfter !== undefined) return 'late';
    const isSilentNow = isCutOff(this.engine.session) || this.isOutdated(ticket, now);
    if (this.tellsOfHolder(hold.startedAt, isSilentNow)) return 'held elsewhere';
    return hold.partOf !== undefined && this.isNothingKnown && !isSilentNow ? 'out-of-time' : 'unavailable';
  }

  private errorOf(hold: Hold, why: Refusal, now: MonotonicMs): unknown {
    const { reporter } = this.engine;
    switch (why) {
      case 'aborted':
        return hold.abortReason;
      case 'closed':
        return reporter.closed(this.key);
      case 'out-of-time':
        return reporter.outOfTime(hold);
      case 'late':
        return reporter.lateGrant(hold, hold.lateAfter ?? 0);
      case 'held here':
        return reporter.timedOut(hold, this.leaseLeftAt(now), this.ownHolder);
      case 'held elsewhere':
        return reporter.timedOut(hold, this.leaseLeftAt(now));
      case 'unavailable':
        return reporter.unavailable(hold, this.failure ?? hold.options.lastFailure, now - hold.startedAt);
    }
  }

  /** Whether another holder is known to have kept a call waiting that began at that time. */
  private tellsOfHolder(startedAt: MonotonicMs, isUnreliable: boolean): boolean {
    return this.failure === undefined && (this.toldAt >= startedAt || (this.isTold && !isUnreliable));
  }

  /**
   * Whether the last report is outdated while the store owes a reply to the ticket, or, for a call without a ticket, to
   * the first one.
   */
  private isOutdated(ticket: Ticket<Hold> | undefined, now: MonotonicMs): boolean {
    const asking = ticket ?? this.wanted[0];
    if (asking?.isSilent(now) === true) return true;
    if (ticket === undefined || ticket.limit === 1) return false;
    return this.isTold && now - this.toldAt > SILENCE && !this.isAnyAnswered;
  }

  private get isAnyAnswered(): boolean {
    return this.wanted.some(({ isAnswered }) => isAnswered);
  }

  /** The store replied without a failure. */
  private heard(now: MonotonicMs): void {
    this.wasCancelled = false;
    this.isTold = true;
    this.toldAt = now;
    this.failure = undefined;
  }

  /** Calls here had to wait: for a hold of this process, or for other processes that come first. */
  private noteHeld(now: MonotonicMs): void {
    this.toldAt = Math.max(this.toldAt, now);
  }

  // Who is served

  /**
   * Serves calls from the held tickets, returns idle ones that can serve no call, and lets as many tickets wait in the
   * store as the remaining calls need. Each of these steps may serve again, with a call or a ticket fewer.
   *
   * @param contended whether new tickets have to expect a holder, and queue at once
   * @returns the last ticket that was left without a call
   */
  private serve(
    now: MonotonicMs,
    contended = this.held.length > 0 && this.waiting.first?.limit === 1,
  ): Ticket<Hold> | undefined {
    let isContended = contended;
    if (this.held.length > 0) {
      isContended = this.returnIdle(now) ?? isContended;
      for (const ticket of this.held) if (ticket.isForReaders) this.startReaders(ticket, now);
      // More may be idle than the remaining calls need.
      if (this.waiting.size === 0) this.returnIdle(now);
    }
    const head = this.waiting.first;
    if (head === undefined || this.held.length === 0) this.stopLooking();
    if (head === undefined) {
      const freed = this.wanted.length > 0 ? this.provide([], 0, false, now) : undefined;
      this.closeIfUnused();
      return freed;
    }
    const serving = this.held.length === 0 ? 0 : this.planServing(head, now);
    if (head.limit === 1) {
      const most = serving > 0 ? 0 : 1;
      return this.wanted.length + most > 0 ? this.provide([head], most, isContended, now) : undefined;
    }
    isContended ||= this.held.some((ticket) => this.turnOf(ticket)?.othersWait === true);
    return this.providePermits(head, serving, isContended, now);
  }

  /** Lets the next hold of this process begin on a ticket without one. Returns whether the ticket stays here. */
  private passOn(ticket: Ticket, now: MonotonicMs): boolean {
    // Calls at the head whose time ran out while the event loop was blocked.
    for (let late = this.waiting.first; late?.isOverdue(now) === true; late = this.waiting.first) {
      this.onLeft(late, 'timeout', now);
    }
    // A reader behind a writer that had timed out has begun on it.
    if (ticket.users > 0) return true;
    const head = this.waiting.first;
    if (head === undefined || !this.canServe(ticket, head) || !this.held.includes(ticket)) return false;
    const turn = this.turnOf(ticket);
    if (turn === undefined || !this.engine.tickets.isSure(ticket, now)) return false;
    const isInTurn = turn.isInTurn(head);
    if (!isInTurn || !turn.mayPass(head, now)) {
      // Without a hold until the reply to a reservation: one round trip is shorter than two.
      if ((!isInTurn && turn.othersWait) || !turn.isAwaited(now)) return false;
      ticket.isIdle = true;
      this.wakeAt(turn.endsAt);
      return true;
    }
    this.startOn(head, ticket, turn, now);
    if (!this.serveLikeBefore(now)) this.serve(now);
    return true;
  }

  /** Whether a hold of this call may begin on the ticket when it is unused, or used only by readers. */
  private canServe(ticket: Ticket, { options, limit, permits }: Hold): boolean {
    if (limit !== ticket.limit || permits !== ticket.permits || options.leaseTime !== undefined) return false;
    return ticket.isTransferable && !this.engine.isClosing;
  }

  /** After `holdAtLeast` the lock passes on through the store, where other processes may come first. */
  private canServeNext(ticket: Ticket, hold: Hold, now: MonotonicMs): boolean {
    return (ticket.keptUntil ?? 0) <= now && this.canServe(ticket, hold);
  }

  /** Undefined if the store can't reserve tokens, so that every hold needs a request. */
  private turnOf(ticket: Ticket): Turn | undefined {
    return this.canReserve ? ticket.turn : undefined;
  }

  /** Serves the head like the call before it, without another look at the tickets; false if {@link serve} has to look. */
  private serveLikeBefore(now: MonotonicMs): boolean {
    const { first } = this.waiting;
    if (first === undefined || this.wanted.length > 0 || !this.isEnough(first, now)) return false;
    if (first.limit !== Infinity) return true;
    for (const ticket of this.held) this.startReaders(ticket, now);
    const next = this.waiting.first;
    return next === undefined || this.isEnough(next, now);
  }

  private isEnough(hold: Hold, now: MonotonicMs): boolean {
    if (hold.needsOwnTicket || now >= this.enoughUntil || hold.permits !== this.enoughFor) return false;
    // Another one that can no longer pass on is noticed when the turn ends.
    const [ticket] = this.held;
    return ticket !== undefined && this.canServeNext(ticket, hold, now);
  }

  /**
   * Returns how many held tickets are expected to serve the next calls in time, so that none has to wait in the store.
   * Reserves tokens where the head depends on them, and sets the timer for the end of the first turn.
   */
  private planServing(head: Hold, now: MonotonicMs): number {
    let count = 0;
    let next = Infinity;
    for (const ticket of this.held) {
      const turn = this.turnOf(ticket);
      if (turn === undefined || !this.canServeNext(ticket, head, now)) continue;
      const isInTurn = turn.isInTurn(head);
      if (turn.mustReserve(head, isInTurn, now)) this.reserve(ticket, turn, now);
      const until = ticket.isForReaders ? turn.awaitedUntil : turn.endsAt;
      if (!isInTurn || now >= until || turn.state === 'spent') continue;
      count += 1;
      next = Math.min(next, until);
    }
    // No further ticket with this many permits can be held beside these.
    const isEnough = (count + 1) * head.permits > head.limit || (count > 0 && head.limit === Infinity);
    this.enoughUntil = isEnough ? next : -Infinity;
    this.enoughFor = head.permits;
    if (count > 0) this.wakeAt(next as MonotonicMs);
    return count;
  }

  /** The next hold of this process begins on the ticket. */
  private startOn(hold: Hold, ticket: Ticket, turn: Turn, now: MonotonicMs): void {
    const { waiting } = this;
    const token = turn.pass();
    waiting.leave(hold);
    if (hold.fair) this.forfeit(hold, now);
    const isBusy = waiting.size > 0 || ticket.isForReaders;
    if (isBusy && turn.shouldReserve(waiting.first, now)) this.reserve(ticket, turn, now);
    this.start(hold, ticket, token, now);
  }

  /** P25: readers at the head begin beside those on the ticket. `isNew`: it was granted for all that waited. */
  private startReaders(ticket: Ticket, now: MonotonicMs, isNew = false): void {
    const turn = this.turnOf(ticket);
    if (turn === undefined) return;
    for (let head = this.waiting.first; head !== undefined; head = this.waiting.first) {
      if (!this.canServe(ticket, head) || !turn.mayPass(head, now)) return;
      if (!turn.isInTurn(head) && (head.fair || !isNew)) return;
      if (!this.engine.tickets.isSure(ticket, now)) return;
      this.startOn(head, ticket, turn, now);
    }
  }

  private start(hold: Hold, ticket: Ticket, token: number, from: MonotonicMs): void {
    const { hub, reporter } = this.engine;
    hold.start(ticket, token, from);
    if (hub.observed) {
      this.afterEvent(() => reporter.granted(hold, token));
    }
  }

  private reserve(ticket: Ticket, turn: Turn, now: MonotonicMs): void {
    turn.reserving(now);
    const { size } = this.waiting;
    const callers = ticket.isForReaders ? size + ticket.users : Math.ceil(size / this.held.length);
    this.engine.tickets.reserve(ticket, tokensFor(callers, ticket.limit), () => this.onReserved(ticket));
  }

  /**
   * Returns idle tickets that can serve no call, or not in time. Undefined if there were none; otherwise whether
   * other processes are known to wait for one of them.
   */
  private returnIdle(now: MonotonicMs): boolean | undefined {
    let othersWait: boolean | undefined;
    for (const ticket of this.held) {
      if (!ticket.isIdle || ticket.state !== 'held') continue;
      const turn = this.turnOf(ticket);
      const { first } = this.waiting;
      if (first !== undefined && turn !== undefined && now < turn.endsAt && this.canServe(ticket, first)) {
        // All tickets share one timer.
        this.wakeAt(turn.endsAt);
        continue;
      }
      othersWait = othersWait === true || turn?.othersWait === true;
      this.releaseUnused(ticket, now);
      this.closeIfUnused();
    }
    return othersWait;
  }

  /** Returns an idle ticket to the store. */
  private releaseUnused(ticket: Ticket, now: MonotonicMs): void {
    this.drop(ticket, now);
    this.follow(this.engine.tickets.releaseUnused(ticket));
  }

  /** Returns the held tickets that the store can no longer have, now that it has granted this one. */
  private addHeld(ticket: Ticket): readonly Ticket[] {
    const { held } = this;
    this.enoughUntil = -Infinity;
    // The whole lock, or another limit: the store grants that only if this process holds nothing.
    if (ticket.limit === 1 || ticket.limit !== held[0]?.limit) {
      this.held = [ticket];
      this.clearWake();
      return held;
    }
    this.held = [...held, ticket];
    return NONE;
  }

  private drop(ticket: Ticket, now: MonotonicMs): boolean {
    if (!this.held.includes(ticket)) return false;
    this.noteHeld(now);
    this.held = without(this.held, ticket);
    if (this.held.length === 0) this.stopLooking();
    this.enoughUntil = -Infinity;
    return true;
  }

  private stopLooking(): void {
    this.enoughUntil = -Infinity;
    this.clearWake();
  }

  private closeIfUnused(): void {
    if (this.isUsed) return;
    // It concerned calls that have ended.
    this.isTold = false;
    this.failure = this.freeAt = undefined;
    if (this.joining + this.trying.size + this.leaving.size === 0) this.onUnused(this);
  }

  // Tickets that wait

  /**
   * Assigns tickets to the calls that need one, in order, and opens more, up to `most` in total. Withdraws tickets
   * that no call needs.
   *
   * @param contended whether the lock is expected to be held
   * @returns the last ticket that was left without a call
   */
  private provide(
    needy: readonly Hold[],
    most: number,
    contended: boolean,
    now: MonotonicMs,
  ): Ticket<Hold> | undefined {
    let freed: Ticket<Hold> | undefined;
    let count = 0;
    for (const hold of needy) {
      // The call had timed out.
      if (!this.waiting.has(hold)) continue;
      let ticket = this.wanted[count];
      while (ticket !== undefined && !ticket.suits(hold)) {
        freed = this.free(ticket, now);
        ticket = this.wanted[count];
      }
      if (ticket !== undefined) this.standFor(ticket, hold, now);
      else if (count >= most || !this.openFor(hold, contended, now)) break;
      count += 1;
    }
    for (let ticket = this.wanted[count]; ticket !== undefined; ticket = this.wanted[count])
      freed = this.free(ticket, now);
    return freed;
  }

  /**
   * The same for permits: one ticket for each of the first calls, as many as could hold the lock together, plus the
   * next one; but a single ticket for all readers that can share it. With a limit of 3 and calls for 1, 2, 1 and 1 permits,
   * the first three have tickets: two may hold the lock together, and the third is the next one.
   *
   * @param serving how many held tickets are expected to serve the next calls
   */
  private providePermits(
    head: Hold,
    serving: number,
    contended: boolean,
    now: MonotonicMs,
  ): Ticket<Hold> | undefined {
    const { limit } = head;
    const isForReaders = limit === Infinity;
    const max = isForReaders ? MAX_WAITING_TICKETS : MAX_WAITING_TICKETS - serving;
    let permits = isForReaders ? limit : limit - serving * head.permits;
    // A ticket for the head could not be granted beside these.
    if (serving > 0 && permits < head.permits) permits = 0;
    const canShare = isForReaders && this.canReserve;
    let isCovered = canShare && serving > 0;
    let most = 0;
    let count = 0;
    const needy: Hold[] = [];
    for (let each: Hold | undefined = head; each?.limit === limit; each = each.next, count++) {
      if (count < max && permits > 0) most = count + 1;
      else if (count >= this.wanted.length) break;
      permits -= each.permits;
      const shares = canShare && !each.needsOwnTicket;
      if (!shares || !isCovered) needy.push(each);
      isCovered ||= shares;
    }
    return this.provide(needy, most, contended, now);
  }

  /**
   * While a call finds out whether the lock is free, no other may overtake it: neither one that queues at once, nor
   * one that needs fewer permits.
   */
  private openFor(hold: Hold, contended: boolean, now: MonotonicMs): boolean {
    const isBusy = contended || this.wanted.some(({ isContended }) => isContended);
    const isAhead = ({ isAnswered, isContended, permits }: Ticket<Hold>): boolean =>
      !isAnswered && !isContended && (isBusy || permits > hold.permits);
    if (this.wanted.some(isAhead)) return false;
    if (!this.reuse(hold, now)) this.proceed(this.add(hold, isBusy), now);
    return true;
  }

  /**
   * Assigns a ticket without a call whose request is pending. Returns whether there was one. Its position may be
   * before those of calls ahead, which a request for fewer permits must not overtake.
   */
  private reuse(hold: Hold, now: MonotonicMs): boolean {
    if (this.wanted.some(({ permits }) => permits !== hold.permits)) return false;
    const ticket = this.unwanted.find((each) => each.suits(hold));
    if (ticket === undefined) return false;
    this.unwanted = without(this.unwanted, ticket);
    this.wanted = [...this.wanted, ticket];
    this.standFor(ticket, hold, now);
    this.leaving.end();
    return true;
  }

  private add(hold: Hold, contended: boolean): Ticket<Hold> {
    const { engine, key } = this;
    const ticket = new Ticket<Hold>(key, engine.nextOwner(), this, hold.limit, hold.permits, hold, contended);
    this.wanted = this.wanted.length === 0 ? [ticket] : [...this.wanted, ticket];
    engine.tickets.byOwner.set(ticket.owner, ticket);
    return ticket;
  }

  private standFor(ticket: Ticket<Hold>, hold: Hold | undefined, now: MonotonicMs): void {
    if (ticket.caller === hold) return;
    ticket.caller = hold;
    if (hold?.lease !== ticket.askedLease) this.wake(ticket, now);
  }

  /** No call needs the ticket: it is withdrawn, at once or when its reply has come. */
  private free(ticket: Ticket<Hold>, now: MonotonicMs): Ticket<Hold> {
    this.wanted = without(this.wanted, ticket);
    this.unwanted = [...this.unwanted, ticket];
    this.leaving.begin();
    this.standFor(ticket, undefined, now);
    return ticket;
  }

  /**
   * P26: a call in strict order was served without its ticket, which must not pass on: earlier calls of other
   * processes may exist.
   */
  private forfeit(hold: Hold, now: MonotonicMs): void {
    const ticket = this.ticketOf(hold);
    if (ticket === undefined) return;
    this.free(ticket, now);
    if (ticket.isAsking) this.abandon(ticket, now);
  }

  /** Withdraws the ticket without waiting for the reply to its request. */
  private abandon(ticket: Ticket<Hold>, now: MonotonicMs): void {
    ticket.doubtRequest();
    this.withdraw(ticket, now);
  }

  private onQueued(ticket: Ticket<Hold>, holderLeaseLeft: number | undefined, now: MonotonicMs): void {
    ticket.isContended = true;
    ticket.wasBroken = false;
    this.heard(now);
    this.freeAt = holderLeaseLeft === undefined ? undefined : now + holderLeaseLeft;
    const odd: Hold[] = [];
    const fresh: Hold[] = [];
    // In one pass: thousands of calls may wait, and this runs for each reply.
    for (let each = this.waiting.first; each !== undefined; each = each.next) {
      if (each.lateAfter !== undefined && this.callersAt(ticket).includes(each)) each.lateAfter = undefined;
      if (!limitsAgree(each.limit, ticket.limit)) odd.push(each);
      else if (!each.isQueuedReported) fresh.push(each);
    }
    for (const hold of odd) {
      this.waiting.leave(hold);
      this.refuse(hold, this.engine.reporter.disagreement(hold, ticket.limit));
    }
    if (fresh.length > 0)
      this.afterEvent(() => {
        for (const hold of fresh) this.engine.reporter.queued(hold, this.engine.leaseLeft(holderLeaseLeft));
      });
    // The next permits can queue behind it; and no ticket may stand for a call that was refused.
    if (ticket.limit !== 1 || odd.length > 0) this.serve(now);
    if (ticket.caller?.lease === ticket.askedLease) this.pause(ticket, 'queued', now, holderLeaseLeft);
    else this.proceed(ticket, now);
  }

  private onGranted(ticket: Ticket<Hold>, grant: Grant, now: MonotonicMs): void {
    const { sentAt } = ticket;
    // Tickets have moved to other calls: the grant is for one with this `leaseTime`.
    if (ticket.caller !== undefined && ticket.caller.lease !== ticket.askedLease) this.exchange(ticket, now);
    const { caller, wasBroken } = ticket;
    ticket.wasBroken = false;
    if (caller?.lease !== ticket.askedLease || wasBroken) this.withdraw(ticket, now);
    else if (this.engine.tickets.mayBeOver(sentAt, caller.lease))
      this.grantedLate(ticket, caller, now - sentAt, now);
    else {
      // Only now: an unused grant does not show that anyone holds the lock.
      this.heard(now);
      this.deliver(ticket, caller, grant, sentAt, caller.lease, false, now);
    }
  }

  /**
   * The call gets a second attempt, since this process may have been stopped meanwhile. If its own `leaseTime` is
   * shorter than the store's replies take, it fails, so that calls behind it are not delayed. Late grants count even if
   * other processes had the lock in between: under contention every grant would be late, and each costs the process its turn.
   */
  private grantedLate(ticket: Ticket<Hold>, hold: Hold, took: number, now: MonotonicMs): void {
    hold.lateAfter = took;
    if (!isLeaseTooShort(hold, took)) this.withdraw(ticket, now, lateAnswer(took), true);
    else if (!this.refuseLate(ticket, hold, 2, took, now)) this.withdraw(ticket, now, undefined, true);
  }

  /** Counts a grant that came too late for the call's own `leaseTime`. The last of so many ends the call: then true. */
  private refuseLate(
    ticket: Ticket<Hold>,
    hold: Hold,
    most: number,
    took: number,
    now: MonotonicMs,
  ): boolean {
    hold.lateGrants += 1;
    if (hold.lateGrants < most) return false;
    this.waiting.leave(hold);
    this.withdraw(ticket, now);
    this.refuse(hold, this.engine.reporter.lateGrant(hold, took));
    return true;
  }

  /**
   * P12: the lock is held already, so the call's hold starts at once, and the lease is claimed in the same tick. False if
   * it has to be requested again.
   */
  private deliverPushed(ticket: Ticket<Hold>, hold: Hold, now: MonotonicMs): boolean {
    const { pushed } = ticket;
    if (pushed === undefined) return false;
    ticket.pushed = undefined;
    // A repeated request claims a grant with the lease that was requested. If such a request was lost, only the store
    // knows the lease.
    if (ticket.shortestInDoubt < pushed.lease || !Number.isSafeInteger(pushed.token)) return false;
    // Granted for a former call with a shorter `leaseTime`: it may end before this one has claimed it.
    if (pushed.lease < Math.min(hold.lease, CLAIM_LEASE)) return false;
    const lease = Math.min(pushed.lease, hold.lease);
    if (this.engine.tickets.mayBeOver(pushed.startedAt, lease)) {
      // P13: requested again instead of started. One more may be late than of replies, as the network may delay two together.
      const took = now - pushed.startedAt;
      return isLeaseTooShort(hold, took) && this.refuseLate(ticket, hold, 3, took, now);
    }
    this.deliver(ticket, hold, pushed, pushed.startedAt, lease, true, now);
    return true;
  }

  private deliver(
    ticket: Ticket<Hold>,
    hold: Hold,
    grant: Grant | PushedGrant,
    startedAt: MonotonicMs,
    lease: number,
    unclaimed: boolean,
    now: MonotonicMs,
  ): void {
    const { tickets } = this.engine;
    this.remove(ticket);
    this.waiting.leave(hold);
    tickets.granted(ticket, grant, startedAt, lease, hold.options.leaseTime, unclaimed);
    const superseded = this.addHeld(ticket);
    this.start(hold, ticket, grant.token, startedAt);
    for (const each of superseded) tickets.supersede(each);
    // One ticket stands for all waiting readers.
    if (ticket.isForReaders) this.startReaders(ticket, now, true);
    // Most locks are free and uncontended.
    const isAlone = this.waiting.size === 0 && this.wanted.length === 0 && this.held.length === 1;
    if (!isAlone) this.serve(now);
  }

  /** Requests the lock for the call, unless a grant has been pushed meanwhile. */
  private proceed(ticket: Ticket<Hold>, now: MonotonicMs): void {
    if (ticket.pushed !== undefined) {
      // They timed out while the event loop was blocked; the next call inherits the grant.
      for (let late = ticket.caller; late?.isOverdue(now) === true; late = ticket.caller)
        this.onLeft(late, 'timeout', now);
    }
    const { caller } = ticket;
    if (caller === undefined) this.withdraw(ticket, now);
    else if (!this.deliverPushed(ticket, caller, now)) this.request(ticket, caller);
  }

  private request(ticket: Ticket<Hold>, hold: Hold): void {
    const { engine, key } = this;
    const { lease, limit, permits, label } = hold;
    ticket.state = 'asking';
    ticket.isWoken = false;
    ticket.askedLease = lease;
    ticket.askedFor = hold;
    ticket.sentAt = ticket.askedAt = engine.tickets.sendingAt();
    const reply = engine.session.acquire({
      key,
      owner: ticket.owner,
      lease,
      isRenewed: hold.options.leaseTime === undefined,
      claimLease: lease < CLAIM_LEASE ? lease : CLAIM_LEASE,
      wait: true,
      callers: this.countAt(ticket),
      tokens: this.tokensWith(hold, ticket.isContended),
      contended: ticket.isContended,
      limit,
      permits,
      label,
    });
    whenReplied(
      reply,
      (received) => this.onReplied(ticket, received),
      (error) => this.onFailed(ticket, storeFailure(error)),
    );
  }

  /** How many calls a ticket stands for, as the store shows it. */
  private countAt(ticket: Ticket<Hold>): number {
    return ticket === this.wanted[0] ? Math.max(1, this.waiting.size - this.wanted.length + 1) : 1;
  }

  /** How many tokens to request with a grant. */
  private tokensWith({ options, limit }: Hold, contended: boolean): number {
    const { size } = this.waiting;
    if (options.leaseTime !== undefined || size < 2 || !this.canReserve) return 1;
    if (limit === Infinity) return contended ? maxTokens(limit) : tokensFor(size, limit);
    return tokensFor(limit === 1 ? size : Math.ceil(size / this.wanted.length), limit);
  }

  /** Until the next request: the holder's lease ends or the heartbeat is due, or a pause that grows with the failures. */
  private pause(
    ticket: Ticket<Hold>,
    state: 'queued' | 'pausing',
    now: MonotonicMs,
    holderLeaseLeft = Infinity,
  ): void {
    if (ticket.isWoken) {
      this.proceed(ticket, now);
      return;
    }
    ticket.state = state;
    const expiry = holderLeaseLeft + 1 + Math.random() * POLL_JITTER;
    const ms = state === 'queued' ? Math.min(expiry, POLL) : pauseBefore(ticket.failures);
    this.engine.timers.set(ticket, later(now, ms));
  }

  /** Ends the pause, or skips the next one. */
  private wake(ticket: Ticket<Hold>, now: MonotonicMs): void {
    if (ticket.state === 'asking') ticket.isWoken = true;
    else if (ticket.state !== 'gone') {
      this.engine.timers.clear(ticket);
      ticket.state = 'asking';
      this.proceed(ticket, now);
    }
  }

  /**
   * Withdraws the ticket; requests again under a new owner id if `isRepeated` and its call still waits.
   *
   * @param failure why, if the store caused it
   */
  private withdraw(
    ticket: Ticket<Hold>,
    now: MonotonicMs,
    failure?: LockStoreError,
    isRepeated = false,
  ): void {
    const { caller, key, owner } = ticket;
    const { tickets } = this.engine;
    const wasWanted = this.remove(ticket);
    ticket.state = 'gone';
    tickets.byOwner.delete(owner);
    const isReopened = wasWanted && isRepeated && caller !== undefined && this.waiting.has(caller);
    if (isReopened) {
      this.failure = failure;
      const again = this.add(caller, ticket.limit !== 1);
      again.failures = 1;
      this.pause(again, 'pausing', now);
      // The new ticket is the last one: the call inherits the next existing ticket, if any, before that is granted.
      this.serve(now);
    }
    if (ticket.mayBeStored) {
      // Without other tickets that were replied to, no known holder keeps this process waiting.
      if (!this.isAnyAnswered) this.isTold = false;
      this.follow(tickets.withdraw(key, owner, ticket.inDoubt));
    }
    if (!wasWanted) this.closeIfUnused();
    else if (!isReopened) this.serve(now);
  }

  /** Takes the ticket out of those that wait. Returns false for one that no call needed. */
  private remove(ticket: Ticket<Hold>): boolean {
    if (ticket.state === 'queued' || ticket.state === 'pausing') this.engine.timers.clear(ticket);
    if (this.unwanted.includes(ticket)) {
      this.unwanted = without(this.unwanted, ticket);
      this.leaving.end();
      return false;
    }
    this.wanted = without(this.wanted, ticket);
    return true;
  }

  /**
   * Swaps calls with another ticket, so that this one stands for a call with the requested `leaseTime`. Otherwise
   * tickets that pass from call to call while requesting would be withdrawn again and again, and no call would be
   * served.
   */
  private exchange(ticket: Ticket<Hold>, now: MonotonicMs): void {
    const { caller, askedLease } = ticket;
    const other = this.wanted.find((each) => each.suits(ticket) && each.caller?.lease === askedLease);
    if (other === undefined) return;
    this.standFor(ticket, other.caller, now);
    this.standFor(other, caller, now);
  }

  // Inside

  /** Ends a call. `afterCleanUp`: waits until its ticket has left the store, within limits. */
  private refuse(hold: Hold, error: unknown, afterCleanUp = false): void {
    const { reporter, timers, clock } = this.engine;
    hold.stop();
    const named = withHolder(this.engine, hold, error);
    const left = hold.startedAt + hold.waitTime + LATEST_OUTCOME - clock.monotonic();
    const patience = Math.max(0, Math.min(ANSWER_GRACE, left));
    const cleanedUp = afterCleanUp ? timers.within(patience, this.idle()) : undefined;
    if (named === undefined && cleanedUp === undefined) {
      this.afterEvent(() => reporter.refuse(hold, error));
    } else {
      void Promise.all([named ?? error, cleanedUp]).then(([outcome]) => {
        reporter.refuse(hold, outcome);
      });
    }
  }

  private wakeAt(time: MonotonicMs): void {
    if (this.heapIndex === -1 || this.dueAt > time) this.engine.timers.set(this, time);
  }

  private clearWake(): void {
    if (this.heapIndex !== -1) this.engine.timers.clear(this);
  }

  /** An attempt has ended, and its request, too. */
  endTry(hold: Hold): void {
    this.trying.leave(hold);
    this.closeIfUnused();
  }

  /** Counts a ticket as leaving until its last request has been carried out. */
  follow(done: PromiseLike<unknown>): void {
    this.leaving.begin();
    const end = (): void => {
      this.leaving.end();
      this.closeIfUnused();
    };
    void done.then(end, end);
  }

  /**
   * Handles an event now, or after the one that is being handled. The three events on the way of a free lock do the same
   * without a closure.
   */
  private handle(event: (now: MonotonicMs) => void): void {
    if (this.isInEvent) {
      this.afterEvent(() => this.handle(event));
      return;
    }
    const now = this.beginEvent();
    try {
      event(now);
    } finally {
      this.endEvent();
    }
  }

  private beginEvent(): MonotonicMs {
    const now = this.engine.clock.monotonic();
    // Each loss is an event of its own, before this one.
    for (const ticket of this.held) this.engine.tickets.expire(ticket, now);
    this.isInEvent = true;
    return now;
  }

  private afterEvent(event: () => void): void {
    (this.next ??= []).push(event);
  }

  private endEvent(): void {
    this.isInEvent = false;
    const { next } = this;
    if (next === undefined) return;
    this.next = undefined;
    for (const each of next) each();
  }
}

/** A reader that has not called yet. */
const ANY_READER = { fair: false, limit: Infinity, joinedAt: 0 as MonotonicMs };

function without<T>(all: readonly T[], one: T): readonly T[] {
  if (all.length === 1) return all[0] === one ? NONE : all;
  return all.filter((each) => each !== one);
}
