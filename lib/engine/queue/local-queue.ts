import type { ReleaseOutcome } from '../../model/lock-handle.js';
import type { LockStoreError, MonotonicMs } from '../../stores/port/lock-store.js';
import { LinkedQueue } from '../../common/linked-queue.js';
import type { LeaseLeft } from '../events/lock-reporter.js';
import type { Lease, LeaseGrant, LeaseSuccessor } from '../lease/lease.js';
import { mostTokens, tokensFor, type CohortBudget } from '../lease/cohort-budget.js';
import { endWait } from './end-of-wait.js';
import type { EngineContext } from '../context.js';
import { handOver } from './hand-over.js';
import type { QueueRegistry } from './queue-registry.js';
import { isLeaseTooShort, lateAnswer } from '../events/late-grant.js';
import { isFirst, isInTurn, OwnLeases } from './own-leases.js';
import { QueueTickets } from './queue-tickets.js';
import type { QueueTicket } from './queue-ticket.js';
import type { TicketOwner } from './ticket-owner.js';
import { agree, endOverdue, type Waiter, type WaiterQueue } from './waiter.js';
import type { GivenUp } from '../time/wait.js';

/**
 * The callers of this process that wait for one key, in order, and what this process holds of it: all of it, readers'
 * shares or shares of a semaphore. The head of the queue is served by a lease of the process if one admits it (P20, P24,
 * P25), else by a ticket, which is a place in the store's queue (P10).
 */
export class LocalQueue implements LeaseSuccessor, TicketOwner<QueueTicket>, WaiterQueue {
  readonly waiting = new LinkedQueue<Waiter>();
  readonly leases: OwnLeases;
  readonly tickets: QueueTickets;

  constructor(
    readonly key: string,
    private readonly context: EngineContext,
    private readonly registry: QueueRegistry,
  ) {
    this.leases = new OwnLeases(context, this);
    this.tickets = new QueueTickets(context, this, registry);
  }

  get head(): Waiter | undefined {
    return this.waiting.first;
  }

  /** Whether whoever wants to have it with that limit need not ask the store, which can only say that it is held. */
  keepsOut(limit: number): boolean {
    const others = this.leases.limit ?? this.tickets.first?.limit;
    return limit === 1 && others === 1 && this.isKnownBusy;
  }

  /** As far as it is known. */
  get holderLeaseLeft(): LeaseLeft | undefined {
    const [lease] = this.leases.all;
    if (lease?.limit === 1) return { ms: this.context.leases.remaining(lease), isBound: false };
    return this.context.leaseLeft(this.tickets.holderLeaseLeft);
  }

  add(caller: Waiter): void {
    const { context, tickets } = this;
    const first = tickets.first;
    if (first?.answered === true && !agree(first.limit, caller.limit)) {
      caller.fail(context.reporter.disagreement(caller, first.limit));
      return;
    }
    caller.queue = this;
    this.waiting.join(caller);
    if (caller.needsOwnLease || !this.servesNext(caller.joinedAt)) this.goOn(caller.joinedAt);
    if (context.hub.observed && this.surelyWaits(caller))
      context.reporter.queued(caller, this.holderLeaseLeft);
    caller.begin();
  }

  /** A caller got the lock without waiting: it may be handed on to those who come. */
  adopt(lease: Lease): void {
    for (const each of this.leases.keep(lease)) this.context.leases.superseded(each);
    this.goOn();
  }

  /** Asks again now. */
  wake(): void {
    this.tickets.wake();
  }

  /** Ends waits, since the application shuts down. */
  refuse(which: (caller: Waiter) => boolean): void {
    for (const caller of this.waiting.leaveAll(which)) caller.fail(this.context.reporter.closed(this.key));
    this.goOn();
  }

  /** Resolves when no request of this queue is under way any more for callers who are gone. */
  idle(): Promise<void> {
    return this.tickets.idle();
  }

  handOn(lease: Lease, endedAt: MonotonicMs): boolean {
    endOverdue(this, endedAt);
    // Where a writer was late, a reader behind it has begun on the lease already.
    if (lease.users > 0) return true;
    // Listeners that heard of the end may have taken their time.
    const now = this.context.hub.observed ? this.context.clock.monotonic() : endedAt;
    const { head } = this;
    if (head === undefined || !this.leases.mayServe(lease, head)) return false;
    const { budget } = lease;
    if (budget === undefined || !this.context.leases.isSure(lease, now)) return false;
    if (!isInTurn(head, budget) || !budget.mayPass(now, isFirst(head, budget))) {
      if (budget.areOthersWaiting && !isInTurn(head, budget)) return false;
      return this.leases.park(lease, budget, now);
    }
    this.begin(head, lease, budget, now);
    if (head.holdAtLeast > 0 || !this.servesNext(now)) this.goOn(now);
    return true;
  }

  linger(lease: Lease, now: MonotonicMs): Promise<ReleaseOutcome> | undefined {
    return this.leases.linger(lease, now);
  }

  leaseChanged(): void {
    this.leases.countAnew();
  }

  leaseEnded(lease: Lease): void {
    const { leases, waiting, tickets } = this;
    if (!leases.end(lease)) return;
    if (waiting.size === 0 && tickets.size === 0 && leases.size === 0) this.closeIfUnused();
    else this.goOn(undefined, lease.budget?.areOthersWaiting === true);
  }

  follow(returned: PromiseLike<unknown>): void {
    this.tickets.follow(returned);
  }

  giveUp(caller: Waiter, why: GivenUp): void {
    endWait(this.context, this, caller, why);
  }

  countAt(ticket: QueueTicket): number {
    return ticket === this.tickets.first ? Math.max(1, this.waiting.size - this.tickets.size + 1) : 1;
  }

  callersAt(ticket: QueueTicket): readonly Waiter[] {
    const { head: caller } = ticket;
    if (caller === undefined || ticket !== this.tickets.first) return caller === undefined ? [] : [caller];
    return [...this.waiting].filter((each) => each === caller || !this.tickets.has(each));
  }

  tokensFor(caller: Waiter, contended: boolean): number {
    const { size } = this.waiting;
    if (caller.leaseTime !== undefined || size < 2 || this.context.session.reserve === undefined) return 1;
    const { limit } = caller;
    if (limit === Infinity) return contended ? mostTokens(limit) : tokensFor(size, limit);
    return tokensFor(limit === 1 ? size : Math.ceil(size / this.tickets.size), limit);
  }

  onReply(ticket: QueueTicket, holderLeaseLeft: number | undefined, stillQueued: boolean): void {
    const { context, waiting } = this;
    this.tickets.heard(holderLeaseLeft, stillQueued);
    context.storeReporter.answered();
    if (!stillQueued) return;
    for (const caller of this.callersAt(ticket)) caller.lateAfter = undefined;
    const odd = waiting.leaveAll(({ limit }) => !agree(limit, ticket.limit));
    for (const caller of odd) caller.fail(context.reporter.disagreement(caller, ticket.limit));
    context.reporter.allQueued(waiting, context.leaseLeft(holderLeaseLeft));
    // The next ones go to the queue behind it; and other places must not stand for those who have left.
    if (ticket.limit !== 1 || odd.length > 0) this.goOn();
  }

  onKeptWaiting(holderLeaseLeft: number | undefined): void {
    this.tickets.heard(holderLeaseLeft, true);
    this.context.storeReporter.answered();
  }

  onConflict(caller: Waiter, limit: number): void {
    if (!this.waiting.has(caller)) return;
    this.waiting.leave(caller);
    caller.fail(this.context.reporter.disagreement(caller, limit));
  }

  exchange(ticket: QueueTicket): void {
    this.tickets.exchange(ticket);
  }

  onError(error: LockStoreError): void {
    this.tickets.failure = error;
    const { reporter, storeReporter } = this.context;
    if (error.retryable) {
      if (this.waiting.size > 0) storeReporter.waitFailed(error);
      return;
    }
    for (const caller of this.waiting.leaveAll())
      reporter.refuse(caller, reporter.unavailable(caller, error));
    // Other places must not stand for those who have left.
    this.goOn();
  }

  deliver(ticket: QueueTicket, caller: Waiter, grant: LeaseGrant): void {
    this.waiting.leave(caller);
    this.tickets.remove(ticket);
    const lease = this.context.leases.open(ticket, caller, grant);
    handOver(this.context, lease, caller, lease.firstToken, lease.startedAt, this.leases.keep(lease));
    // A ticket stands for all readers of the process who waited.
    if (lease.isForReaders) this.letReadersIn(lease, this.context.clock.monotonic(), true);
    this.goOn();
  }

  /**
   * The caller gets a second try, since this process may have stood still. After that it fails: it must not keep those
   * behind it from asking.
   */
  onLateGrant(ticket: QueueTicket, caller: Waiter, took: number): void {
    const { reporter } = this.context;
    const wasLate = caller.lateAfter !== undefined;
    caller.lateAfter = took;
    if (!isLeaseTooShort(caller, took)) this.leave(ticket, lateAnswer(took));
    else if (wasLate) {
      this.waiting.leave(caller);
      this.leave(ticket);
      reporter.refuse(caller, reporter.lateGrant(caller, took));
    } else this.leave(ticket, undefined, true);
  }

  /** Gives the ticket back, in the background; asks anew, under a new name, if somebody still waits. */
  leave(ticket: QueueTicket, failure?: LockStoreError, isRepeated = failure !== undefined): void {
    const { context, tickets } = this;
    const { head } = ticket;
    const wasWanted = tickets.remove(ticket);
    const isReopened = wasWanted && isRepeated && head?.isSettled === false;
    if (isReopened) {
      tickets.failure = failure;
      tickets.reopen(head, ticket.limit !== 1);
      // The new one is the last: the caller gets the next of the others, if there is one, before that brings a grant.
      this.goOn();
    }
    if (ticket.mayExist) {
      tickets.forget();
      tickets.follow(context.withdraw(this.key, ticket.owner, ticket.inDoubt));
    }
    if (!wasWanted) this.closeIfUnused();
    else if (!isReopened) this.goOn();
  }

  /** Whether a caller that has just come has to wait, whatever the store is going to say to a ticket. */
  private surelyWaits(caller: Waiter): boolean {
    if (caller.isSettled) return false;
    if (this.tickets.size === 0 || this.keepsOut(caller.limit)) return this.isKnownBusy;
    return !this.tickets.has(caller) && this.tickets.isKnownQueued;
  }

  /** Whether the lock is known to be held, so that who comes next has to wait. */
  private get isKnownBusy(): boolean {
    return this.leases.isAnyGood || this.tickets.isKnownQueued;
  }

  /** The next hold of this process begins on the lease. */
  private begin(caller: Waiter, lease: Lease, budget: CohortBudget, now: MonotonicMs): void {
    const token = budget.pass();
    this.waiting.leave(caller);
    if (caller.fair) this.tickets.forfeit(caller);
    const isBusy = this.waiting.size > 0 || lease.isForReaders;
    if (isBusy && budget.wantsMore(now, isFirst(this.head, budget))) this.leases.reserve(lease, budget, now);
    handOver(this.context, lease, caller, token, now);
  }

  /** P25: readers at the head begin beside those on the lease, which is new if they stood in line for it, before others. */
  private letReadersIn(lease: Lease, now: MonotonicMs, isNew = false): void {
    const { budget } = lease;
    if (budget === undefined) return;
    for (let { head } = this; head !== undefined; { head } = this) {
      if (!this.leases.mayServe(lease, head) || !budget.mayPass(now, isFirst(head, budget))) return;
      if (!isInTurn(head, budget) && (head.fair || !isNew)) return;
      if (!this.context.leases.isSure(lease, now)) return;
      this.begin(head, lease, budget, now);
    }
  }

  /** Sees to it that the store is asked where callers wait whom this process can't serve by itself in time. */
  goOn(
    now = this.context.clock.monotonic(),
    contended = this.leases.size > 0 && this.head?.limit === 1,
  ): void {
    if (this.leases.size > 0) {
      if (this.leases.returnParked(now)) return;
      this.letReadersInto(this.leases.all, now);
      // What was kept for them may be too much.
      if (this.head === undefined && this.leases.returnParked(now)) return;
    }
    const { head, tickets } = this;
    if (head === undefined || this.leases.size === 0) this.leases.clearTimer();
    if (head === undefined) {
      if (tickets.size > 0) tickets.provide([], 0, false);
      this.closeIfUnused();
      return;
    }
    const serving = this.leases.size === 0 ? 0 : this.leases.countServing(head, now);
    if (head.limit === 1) {
      const wanted = serving > 0 ? 0 : 1;
      if (tickets.size + wanted > 0) tickets.provide([head], wanted, contended);
    } else tickets.provideShares(head, serving, contended || this.leases.areOthersWaiting);
  }

  /** Whether whoever is next is served as the one before was, so that there is nothing else to look at. */
  private servesNext(now: MonotonicMs): boolean {
    const { head, leases } = this;
    if (head === undefined || this.tickets.size > 0 || !leases.suffice(head, now)) return false;
    if (head.limit !== Infinity) return true;
    this.letReadersInto(leases.all, now);
    return this.head === undefined || leases.suffice(this.head, now);
  }

  private letReadersInto(leases: readonly Lease[], now: MonotonicMs): void {
    for (const lease of leases) if (lease.isForReaders) this.letReadersIn(lease, now);
  }

  /** It is known for as long as anything of it may be in the store, so that shutdown waits for that. */
  private closeIfUnused(): void {
    const { waiting, leases, tickets } = this;
    if (waiting.size === 0 && leases.size === 0 && tickets.isEmpty) this.registry.closeQueue(this);
  }
}
