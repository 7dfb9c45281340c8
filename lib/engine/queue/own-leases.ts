import type { ReleaseOutcome } from '../../model/lock-handle.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import { later } from '../../common/clock.js';
import type { Timer } from '../../common/timer-queue.js';
import type { EngineContext } from '../context.js';
import { tokensFor, type CohortBudget } from '../lease/cohort-budget.js';
import type { Lease, LeaseSuccessor } from '../lease/lease.js';
import type { Waiter } from './waiter.js';

const NONE: readonly Lease[] = [];

const SOON = Promise.resolve();
/**
 * For how many turns of the microtask queue a share stays that its last reader has left: who is about to ask again may
 * be that many `await`s away.
 */
const LINGERING = 8;

/**
 * For how long, ms, shares go back at once after the store was too late with an answer: over a slow network that is the
 * quicker way, and it costs others nothing.
 */
const WITHOUT_PARKING = 1_000;

/** The queue of those who may live on the leases. */
interface LeaseQueue extends LeaseSuccessor {
  readonly waiting: { readonly first: Waiter | undefined; readonly size: number };
  /** The time of a lease is over, or the store has told whether it may go on. */
  goOn(): void;
  /** A lease is on its way out of the store. */
  follow(returned: PromiseLike<unknown>): void;
}

/** What this process holds of one key, and may hand on or has for one hold only. */
export class OwnLeases implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  all = NONE;
  private parksFrom = -Infinity;
  private sufficeUntil = -Infinity;

  constructor(
    private readonly context: EngineContext,
    private readonly queue: LeaseQueue,
  ) {}

  get size(): number {
    return this.all.length;
  }

  /** How many may hold the key at once, by what this process holds. */
  get limit(): number | undefined {
    return this.all[0]?.limit;
  }

  /** What the store granted to that owner, if a hold lives on it. */
  of(owner: string): Lease | undefined {
    return this.all.find((lease) => lease.owner === owner && !lease.isParked);
  }

  /** Whether the process is known to hold the key. */
  get isAnyGood(): boolean {
    return this.all.some((lease) => this.context.leases.isGood(lease));
  }

  /** Whether the process is known to hold all that there is of the key. */
  get isAllGood(): boolean {
    const { all, limit = Infinity } = this;
    return all.length >= limit && all.every((lease) => this.context.leases.isGood(lease));
  }

  get areOthersWaiting(): boolean {
    return this.all.some(({ budget }) => budget?.areOthersWaiting === true);
  }

  /** Answers the leases that it kept before, and that the store can't have any more. */
  keep(lease: Lease): readonly Lease[] {
    const { all } = this;
    this.countAnew();
    lease.heir = this.queue;
    lease.hasBudget = this.context.session.reserve !== undefined;
    // Of another limit, or all of it: the store grants that only where nobody holds what this process had.
    if (lease.limit === 1 || lease.limit !== this.limit) {
      this.all = [lease];
      return all;
    }
    this.all = [...all, lease];
    return NONE;
  }

  /** A lease is over. Whether it was one of them. */
  end(lease: Lease): boolean {
    if (!this.all.includes(lease)) return false;
    this.countAnew();
    this.all = this.all.length === 1 ? NONE : this.all.filter((each) => each !== lease);
    if (this.all.length === 0) this.clearTimer();
    return true;
  }

  /** Whether a hold of that caller may live on the lease when nobody does, or only readers. */
  mayServe(lease: Lease, { leaseTime, limit }: Waiter): boolean {
    if (limit !== lease.limit || leaseTime !== undefined) return false;
    return lease.isTransferable && !this.context.isClosing;
  }

  /**
   * Whether the store need not be asked for that caller, as it was not for the one before: all shares of a semaphore are
   * here, and pass on in time. What changes a lease has them counted anew.
   */
  suffice({ limit, needsOwnLease }: Waiter, now: MonotonicMs): boolean {
    return now < this.sufficeUntil && limit === this.limit && !needsOwnLease;
  }

  /** How many leases may well serve the next callers in time, without a ticket. */
  countServing(head: Waiter, now: MonotonicMs): number {
    let count = 0;
    let next = Infinity;
    for (const lease of this.all) {
      const { budget, isForReaders, keptUntil = 0 } = lease;
      // One that stays taken for a while after its hold passes on through the store, where others may be before.
      if (budget === undefined || keptUntil > now || !this.mayServe(lease, head)) continue;
      const isTheirs = isInTurn(head, budget);
      // Whether anybody else was before them is what the store has to tell.
      const isToAsk = budget.mayAsk && (!isTheirs || (isForReaders && now >= budget.endsAt));
      if (isToAsk || budget.isOut(isFirst(head, budget))) this.reserve(lease, budget, now);
      const until = isForReaders ? budget.awaitedUntil : budget.endsAt;
      if (!isTheirs || now >= until || budget.isSpent) continue;
      count += 1;
      next = Math.min(next, until);
    }
    const areEnough = count === head.limit || (count > 0 && head.limit === Infinity);
    this.sufficeUntil = areEnough ? next : -Infinity;
    if (count > 0) this.lookAgainAt(next as MonotonicMs);
    return count;
  }

  /** More tokens, and whether others wait, in time for those who stand in line here. */
  reserve(lease: Lease, budget: CohortBudget, now: MonotonicMs): void {
    budget.asking(now);
    const { size } = this.queue.waiting;
    const callers = lease.isForReaders ? size + lease.users : Math.ceil(size / this.all.length);
    this.context.leases.watchdog.reserve(lease, budget, tokensFor(callers, lease.limit), () => {
      if (!this.all.includes(lease)) return;
      this.countAnew();
      if (lease.isParked) this.unpark(lease);
      else if (lease.limit !== 1 || this.queue.waiting.first?.fair === true) this.queue.goOn();
    });
  }

  /**
   * Keeps the lease without a hold until the store has answered, if an answer is on its way: one way there and back is
   * shorter than two.
   */
  park(lease: Lease, budget: CohortBudget, now: MonotonicMs): boolean {
    if (!budget.isAwaited(now) || now < this.parksFrom) return false;
    lease.isParked = true;
    this.lookAgainAt(budget.endsAt);
    return true;
  }

  /**
   * Keeps a lease that its last reader has left for a few turns of the microtask queue: readers who ended together may be
   * about to ask again, and the store need not take it back and grant it anew for them.
   */
  linger(lease: Lease, now: MonotonicMs): Promise<ReleaseOutcome> | undefined {
    if (!lease.isForReaders || !lease.isTransferable || this.queue.waiting.size > 0) return undefined;
    const { budget } = lease;
    if (budget?.mayPass(now) !== true || budget.areOthersWaiting || this.context.isClosing) return undefined;
    lease.isParked = true;
    lease.lingering = this.giveUpSoon(lease);
    return lease.lingering.then(() => lease.returned ?? 'released');
  }

  /** Gives back what is kept for callers who can't have it, or too late. Whether anything was. */
  returnParked(now: MonotonicMs): boolean {
    let returned = false;
    for (const lease of this.all) {
      // One of them may have gone back with another.
      if (!lease.isParked || lease.state !== 'held') continue;
      const { budget } = lease;
      const { first } = this.queue.waiting;
      if (first !== undefined && !isOverdue(lease, now) && this.mayServe(lease, first)) {
        // There is one timer for all of them.
        if (budget !== undefined) this.lookAgainAt(budget.endsAt);
        continue;
      }
      this.queue.follow(this.context.leases.giveUp(lease));
      returned = true;
    }
    return returned;
  }

  /** Gives back what is kept for callers who may be about to come: somebody asks the store who has not joined them. */
  returnIdle(): void {
    if (this.queue.waiting.size === 0) this.returnParked(this.context.clock.monotonic());
  }

  /** What is known of the leases may not be true any more. */
  countAnew(): void {
    this.sufficeUntil = -Infinity;
  }

  clearTimer(): void {
    this.countAnew();
    if (this.heapIndex !== -1) this.context.timers.clear(this);
  }

  /** The process has had its turns on a lease, and somebody still waits for the end of its hold. */
  fire(now: MonotonicMs): void {
    if (this.all.some((lease) => lease.limit !== 1 && isOverdue(lease, now))) {
      this.parksFrom = later(now, WITHOUT_PARKING);
    }
    this.queue.goOn();
  }

  /** The store has answered, or not. */
  private unpark(lease: Lease): void {
    const handedOn = this.queue.handOn(lease, this.context.clock.monotonic());
    // It may have turned out that nobody is left, and the lease be over.
    if (!handedOn && this.all.includes(lease)) this.queue.follow(this.context.leases.giveUp(lease));
  }

  /** Gives the lease back unless somebody wants it by then. */
  private async giveUpSoon(lease: Lease): Promise<void> {
    const { waiting } = this.queue;
    const isKept = (): boolean => lease.isParked && lease.state === 'held';
    for (let turn = 0; turn < LINGERING && isKept() && waiting.size === 0; turn++) await SOON;
    lease.lingering = undefined;
    if (!isKept()) return;
    if (waiting.size === 0) void this.context.leases.giveUp(lease);
    // It is for them like any other that is parked.
    else if (lease.budget !== undefined) this.lookAgainAt(lease.budget.endsAt);
  }

  private lookAgainAt(time: MonotonicMs): void {
    if (this.heapIndex === -1 || this.dueAt > time) this.context.timers.set(this, time);
  }
}

/**
 * Whether nobody of another process who was before the caller can be kept waiting by it beyond the bounds: one that wants
 * strict order has to have asked before anybody else did (P26), readers of a shared lease as well if others wait (P25).
 */
export function isInTurn({ fair, limit, joinedAt }: Waiter, budget: CohortBudget): boolean {
  if (!fair && (limit !== Infinity || !budget.areOthersWaiting)) return true;
  return joinedAt <= budget.settledAt;
}

/** Whether the caller wants strict order, and is known to be before all of other processes: their bounds are not its (P26). */
export function isFirst(caller: Waiter | undefined, budget: CohortBudget): boolean {
  return caller?.fair === true && caller.joinedAt <= budget.settledAt;
}

function isOverdue(lease: Lease, now: MonotonicMs): boolean {
  return lease.isParked && (lease.budget === undefined || now >= lease.budget.endsAt);
}
