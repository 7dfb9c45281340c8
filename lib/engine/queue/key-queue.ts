import type { LockStoreError, MonotonicMs } from '../../stores/port/lock-store.js';
import type { Waiter } from './waiter.js';
import type { Timer } from '../../common/timer-queue.js';
import { later } from '../../common/clock.js';
import { endOfWait } from './end-of-wait.js';
import type { Hold } from '../hold/hold.js';
import { QueueStatus } from './queue-status.js';
import { pauseBefore } from '../../common/background-retry.js';
import type { Lease, LeaseSuccessor } from '../lease/lease.js';
import { LinkedQueue } from '../../common/linked-queue.js';
import { CohortBudget, tokensFor } from './local-turns.js';
import type { EngineContext } from '../context.js';
import type { QueueRegistry } from './queue-registry.js';
import { ANSWER_GRACE } from '../time/time-limits.js';
import { handOver } from './hand-over.js';
import type { Grant, TicketOwner, QueueTicket } from './queue-place.js';
import type { GivenUp, Wait } from '../time/wait.js';

/**
 * The callers of this process that wait for one key, in order, and the process's own hold of it. The lock passes from
 * one to the next without the store where that may be (P20). Otherwise one place in the store's queue stands for all
 * of them (P10).
 */
export class KeyQueue implements LeaseSuccessor, TicketOwner, Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  readonly waiting = new LinkedQueue<Waiter>();
  private place: QueueTicket | undefined;
  /** This process's own hold of the lock, and how often it may still be handed on. */
  private held: Lease | undefined;
  private turns: CohortBudget | undefined;
  private readonly told = new QueueStatus();
  /** Callers of this process who came later, for shares of the lock. */
  private followers: { goOn(): void } | undefined;
  /** The last place, or lease that rested, on its way out of the store. */
  private withdrawal: Promise<unknown> | undefined;
  private whenPlaceGone: (() => void)[] | undefined;

  constructor(
    readonly key: string,
    private readonly engine: EngineContext,
    private readonly queues: QueueRegistry,
  ) {}

  get size(): number {
    return this.waiting.size;
  }

  get head(): Waiter | undefined {
    return this.waiting.first;
  }

  /** This process's own hold of the lock. */
  get lease(): Lease | undefined {
    return this.held;
  }

  /** Whether the lock is known to be held, so that a further caller need not ask. */
  get isKnownBusy(): boolean {
    if (this.held !== undefined && this.engine.leases.isGood(this.held)) return true;
    return this.place?.answered === true && this.told.failure === undefined && !this.place.isSilent;
  }

  /** ms left of the holder's lease, as far as it is known. */
  get holderLeaseLeft(): number | undefined {
    if (this.held !== undefined) return this.engine.leases.remaining(this.held);
    return this.told.holderLeaseLeft(this.engine.clock.monotonic());
  }

  /** Whether a caller stands in line here whom the store does not know of. Tells whoever asks when that may have changed. */
  keepsBack(followers: { goOn(): void }): boolean {
    this.followers = followers;
    return this.waiting.size > (this.place?.mayExist === true ? 1 : 0);
  }

  add(caller: Waiter): void {
    this.waiting.join(caller);
    caller.onGivenUp = this.giveUp;
    if (this.engine.hub.observed && this.isKnownBusy)
      this.engine.reporter.queued(caller, this.holderLeaseLeft);
    this.goOn(caller.startedAt);
    caller.begin();
  }

  /** A caller got the lock without waiting: it may be handed on to those who come. */
  adopt(lease: Lease, fair: boolean): void {
    const turns = fair ? undefined : new CohortBudget(lease.token + 1, 0, false, lease.startedAt);
    this.engine.leases.superseded(this.keep(lease, turns));
    this.goOn();
  }

  /** Asks again now. */
  wake(): void {
    this.place?.wake();
  }

  /** Ends waits, since the application shuts down. */
  refuse(which: (caller: Waiter) => boolean): void {
    for (const caller of this.waiting.leaveAll(which)) caller.fail(this.engine.reporter.closed(this.key));
    this.wake();
    this.goOn();
  }

  /** Resolves when no request of this queue is under way any more. */
  async idle(): Promise<void> {
    if (this.place !== undefined) {
      await new Promise<void>((resolve) => {
        (this.whenPlaceGone ??= []).push(resolve);
      });
    }
    await this.withdrawal;
  }

  /** P20: the hold has ended; the next caller goes on under the same lease. */
  handOn(lease: Lease, endedAt: MonotonicMs): boolean {
    this.skipOverdue(endedAt);
    // Listeners that heard of the end may have taken their time.
    const now = this.engine.hub.observed ? this.engine.clock.monotonic() : endedAt;
    const { head, turns } = this;
    if (head === undefined || lease !== this.held || turns === undefined) return false;
    if (!this.mayInherit(head) || !this.engine.leases.isSure(lease, now)) return false;
    if (!turns.mayPass(now)) {
      return turns.isAwaited(now) && this.rest(lease, turns);
    }
    lease.passTo(turns.pass(), now, head.label);
    this.waiting.leave(head);
    if (this.waiting.size > 0 && turns.wantsMore(now)) this.reserve(lease, turns);
    handOver(this.engine, lease, head);
    this.followers?.goOn();
    if (this.place !== undefined && this.head?.lease !== this.place.askedLease) this.place.wake();
    this.goOn(now);
    return true;
  }

  leaseEnded(lease: Lease): void {
    if (lease !== this.held) return;
    const contended = this.turns?.areOthersWaiting === true;
    this.held = undefined;
    this.turns = undefined;
    this.goOn(undefined, contended);
  }

  /** Tells those whose time ended while the event loop stood still. */
  skipOverdue(now: MonotonicMs): void {
    for (let late = this.head; late?.isOverdue(now) === true; late = this.head) late.fire();
  }

  /** The process has had its turns, and somebody still waits for the end of its hold. */
  fire(): void {
    this.goOn();
  }

  heldByOthers(holderLeaseLeft: number | undefined, isHeld = true): void {
    this.told.heard(this.engine.clock.monotonic(), holderLeaseLeft, isHeld);
    this.engine.reporter.storeAnswered();
  }

  heard(holderLeaseLeft: number | undefined, stillQueued: boolean): void {
    this.heldByOthers(holderLeaseLeft, stillQueued);
    if (stillQueued) this.engine.reporter.allQueued(this.waiting, holderLeaseLeft);
  }

  conflicting(limit: number): void {
    const { head } = this;
    if (head === undefined) return;
    this.waiting.leave(head);
    head.fail(this.engine.reporter.disagreement(head, limit));
  }

  unheard(error: LockStoreError): void {
    this.told.failure = error;
    if (error.retryable) return;
    for (const caller of this.waiting.leaveAll()) {
      this.engine.reporter.refuse(caller, this.engine.reporter.unavailable(this.key, error));
    }
  }

  deliver(place: QueueTicket, caller: Waiter, grant: Grant): void {
    const { token, startedAt, tokens = 1, othersWait = false } = grant;
    this.waiting.leave(caller);
    this.place = undefined;
    this.queues.closePlace(place);
    const lease = this.engine.leases.open(place, caller, grant);
    const turns = caller.fair ? undefined : new CohortBudget(token + 1, tokens - 1, othersWait, startedAt);
    handOver(this.engine, lease, caller, this.keep(lease, turns));
    this.goOn();
    this.placeGone();
  }

  /** Gives the place back, in the background; asks anew, under a new owner, if somebody still waits. */
  leave(place: QueueTicket, failure?: LockStoreError): void {
    this.place = undefined;
    this.queues.closePlace(place);
    if (place.mayExist) {
      // Nobody is known to keep us waiting any more.
      this.told.answered = false;
      this.follow(this.engine.withdraw(this.key, place.owner, place.inDoubt));
    }
    if (failure === undefined || this.head === undefined) this.goOn();
    else {
      this.told.failure = failure;
      this.place = this.queues.openPlace(this, false);
      this.place.pause(pauseBefore(1));
    }
    this.placeGone();
  }

  /** Answers the lease that it kept before. */
  private keep(lease: Lease, turns: CohortBudget | undefined): Lease | undefined {
    const former = this.held;
    this.held = lease;
    this.turns = this.engine.session.reserve === undefined ? undefined : turns;
    lease.heir = this;
    return former;
  }

  /** Whether the caller may have the lock when the present hold of this process ends. */
  private mayInherit(caller: Waiter): boolean {
    const { held, turns, engine } = this;
    return held?.isTransferable === true && turns !== undefined && caller.inherits && !engine.isClosing;
  }

  /** Sees to it that the store is asked where callers wait whom this process can't serve by itself in time. */
  private goOn(now?: MonotonicMs, contended?: boolean): void {
    this.openPlaceWhereNeeded(now, contended);
    this.followers?.goOn();
  }

  private openPlaceWhereNeeded(
    now = this.engine.clock.monotonic(),
    contended = this.held !== undefined,
  ): void {
    const { head, turns, held } = this;
    if (held?.isParked === true && (head === undefined || turns === undefined || now >= turns.endsAt)) {
      this.follow(this.engine.leases.giveUp(held));
      return;
    }
    if (this.place !== undefined) return;
    if (head === undefined || held === undefined) this.engine.timers.clear(this);
    if (head === undefined) {
      if (held === undefined) this.queues.closeQueue(this);
      return;
    }
    if (turns !== undefined && held !== undefined && this.mayInherit(head)) {
      if (turns.isOut) this.reserve(held, turns);
      if (now < turns.endsAt) {
        if (this.heapIndex === -1) this.engine.timers.set(this, turns.endsAt);
        return;
      }
    }
    this.place = this.queues.openPlace(this, contended);
    this.place.goOn();
  }

  /** More tokens, and whether others wait, in time for those who stand in line here. */
  private reserve(lease: Lease, turns: CohortBudget): void {
    turns.asking();
    this.engine.leases.reserve(lease, turns, tokensFor(this.waiting.size), () => {
      this.endRest(lease);
    });
  }

  /** Keeps the lease without a hold until the store has answered: a way there and back is shorter than two. */
  private rest(lease: Lease, turns: CohortBudget): boolean {
    lease.isParked = true;
    this.engine.timers.set(this, turns.endsAt);
    return true;
  }

  /** The store has answered, or not. */
  private endRest(lease: Lease): void {
    if (lease !== this.held || !lease.isParked) return;
    const handedOn = this.handOn(lease, this.engine.clock.monotonic());
    // It may have turned out that nobody is left, and the lease be over.
    if (!handedOn && lease === this.held) this.follow(this.engine.leases.giveUp(lease));
  }

  private follow(withdrawal: Promise<unknown>): void {
    this.withdrawal = withdrawal;
    void withdrawal.then(() => {
      if (this.withdrawal === withdrawal) this.withdrawal = undefined;
    });
  }

  private placeGone(): void {
    if (this.place === undefined) this.whenPlaceGone?.splice(0).forEach((resolve) => void resolve());
  }

  private readonly giveUp = (wait: Wait<Hold>, why: GivenUp): void => {
    const caller = wait as Waiter; // only those are added
    const firstAnswerOut = this.told.isNothing && this.held === undefined;
    const isPart = caller.partOf !== undefined;
    if (why === 'timeout' && firstAnswerOut && !caller.prolonged && !isPart) {
      caller.prolonged = true;
      caller.prolong(later(this.engine.clock.monotonic(), ANSWER_GRACE));
      return;
    }
    const error = why === 'aborted' ? caller.abortReason : this.timeoutOf(caller);
    this.waiting.leave(caller);
    caller.stop();
    const next = this.head;
    // Nothing shall stay behind in the store when the caller hears of it (B10), within reason.
    const stays =
      (this.place?.mayExist === true && (!firstAnswerOut || isPart)) || this.held?.isParked === true;
    const waits = why === 'timeout' && next === undefined && stays;
    if (waits && isPart && this.place?.askedAt !== undefined) this.place.abandon();
    else if (this.place !== undefined && next?.lease !== this.place.askedLease) this.place.wake();
    this.goOn();
    if (waits) {
      void this.engine.timers.within(ANSWER_GRACE, this.idle()).then(() => {
        this.engine.reporter.refuse(caller, error);
      });
    } else this.engine.reporter.refuse(caller, error);
  };

  private timeoutOf(caller: Waiter): Error {
    const { engine, held, place, holderLeaseLeft } = this;
    const isHeldHere = held !== undefined && engine.leases.isGood(held);
    const isSilent = place?.isSilent === true;
    return endOfWait(engine, caller, this.told, { isHeldHere, isSilent, holderLeaseLeft });
  }
}
