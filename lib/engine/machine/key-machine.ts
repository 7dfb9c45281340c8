import { LinkedQueue, type Linked } from '../../common/linked-queue.js';
import type {
  Grant,
  LockStoreError,
  MonotonicMs,
  OwnerId,
  PushedGrant,
} from '../../stores/port/lock-store.js';
import { limitsAgree, permitsOf } from '../../stores/port/limits.js';
import { maxTokens, tokensFor, type HandOverBudget } from './hand-over-budget.js';
import { StoreQueue, type LeaseClock, type QueueEntry, type QueueEffects } from './store-queue.js';

const NONE: readonly never[] = [];

/** One call that wants the lock. The machine reads it, and writes only the last two fields. */
export interface Caller<C> extends Linked<C> {
  /** How many can hold the lock at once: 1, a number of permits, or `Infinity` for readers. */
  readonly limit: number;
  /** How many permits of a semaphore it requests; else 1. */
  readonly permits: number;
  /** The lease to request, ms. */
  readonly lease: number;
  /** The user's option; undefined when the watchdog renews the lease. */
  readonly leaseTime: number | undefined;
  readonly fair: boolean;
  /** Whether it can't use a lease that this process already has: `fair`, or a `leaseTime`. */
  readonly needsOwnLease: boolean;
  readonly startedAt: MonotonicMs;
  readonly joinedAt: MonotonicMs;
  /** The number of keys of its call, if others of them were requested before. */
  readonly partOf: number | undefined;
  readonly isSettled: boolean;
  /** Whether its time has ended, though no timer has fired yet. */
  isOverdue(now: MonotonicMs): boolean;
  readonly prolonged: boolean;
  /** Extends its time a little, for a reply in flight. */
  prolong(now: MonotonicMs): void;
  /** How long the store's last reply took, ms, if it was a grant that came too late. */
  lateAfter: number | undefined;
  /** How many grants came later than its own `leaseTime` allows. */
  lateGrants: number;
}

/** A lease of this process on the key. The machine writes only `isParked`. */
export interface LocalLease {
  readonly owner: OwnerId;
  readonly limit: number;
  /** Passes only to a caller that requests as many. */
  readonly permits: number;
  readonly isForReaders: boolean;
  readonly state: 'held' | 'released' | 'lost';
  /** How many holds use it. */
  readonly users: number;
  /** Whether the hold of another caller may begin on it. */
  readonly isTransferable: boolean;
  /** Until when the lock stays held even if its hold ends sooner (`holdAtLeast`). */
  readonly keptUntil: MonotonicMs | undefined;
  /** Undefined if the store can't reserve tokens, so that every hold needs a request. */
  readonly budget: HandOverBudget | undefined;
  /** Whether this process keeps the lease although no hold uses it, because a reservation is pending or readers may come back. */
  isParked: boolean;
}

/** Why a caller is refused. */
export type Refusal =
  | { readonly because: 'aborted' | 'closed' | 'out-of-time' }
  /** The key is used with another limit. */
  | { readonly because: 'limit'; readonly limit: number }
  /** @param here whether this process holds it */
  | { readonly because: 'held'; readonly here: boolean }
  | {
      readonly because: 'unavailable';
      readonly failure: LockStoreError | undefined;
      readonly waitedFor?: number;
    }
  /** The store granted the lock after this many ms, when the lease had already ended. */
  | { readonly because: 'late'; readonly took: number };

/** What the machine requests to be done. No effect calls back before the event it belongs to has ended. */
export interface KeyEffects<C, L> extends QueueEffects<C> {
  readonly leases: LeaseClock & {
    isGood(lease: L, now: MonotonicMs): boolean;
    isSure(lease: L, now: MonotonicMs): boolean;
  };
  /** Whether nothing new may begin because the application shuts down. */
  readonly isClosing: boolean;
  /** Whether the store is known to be unreachable, though no request has failed yet. */
  readonly isCutOff: boolean;
  /** Begins a hold. `superseded`: leases that the store can no longer have, since it has granted this one. */
  start(caller: C, lease: L, token: number, from: MonotonicMs, superseded: readonly L[]): void;
  /** Registers the lease of a grant. */
  open(entry: QueueEntry<C>, caller: C, grant: LeaseGrant): L;
  /** Returns a lease without a hold to the store; later ends one of {@link StoreQueue.leaving}. */
  release(lease: L): void;
  /** Renews a lease and reserves tokens; later {@link KeyMachine.onReserved}. */
  reserve(lease: L, budget: HandOverBudget, tokens: number): void;
  /** Creates the error of a caller, from what is known now. */
  explain(caller: C, why: Refusal): unknown;
  /** Ends a call. `afterCleanUp`: waits until its queue entry has left the store, within limits. */
  refuse(caller: C, error: unknown, afterCleanUp: boolean): void;
  /** Later {@link KeyMachine.fire}. */
  wakeAt(time: MonotonicMs): void;
  clearWake(): void;
  /** The key has no waiters, no holds and no entries in the store. */
  onUnused(): void;
}

/** A grant that was accepted for a caller. */
export interface LeaseGrant extends Grant, Pick<PushedGrant, 'turnFrom'> {
  /** The earliest time when the lease may have begun. */
  readonly startedAt: MonotonicMs;
  /** Until when it can be relied on. */
  readonly deadline: MonotonicMs;
  /** Whether the grant was pushed and has to be claimed. */
  readonly unclaimed: boolean;
}

/**
 * One key of this process: its waiters, its leases, and its positions in the store's queue. Pure and synchronous:
 * events carry the time, requests and timers are {@link KeyEffects}, and events never nest. The head of the queue is
 * served by a lease of this process if one may pass to it, otherwise by a queue entry.
 *
 * | state of        | event                   | what follows                                                       |
 * | --------------- | ----------------------- | ------------------------------------------------------------------ |
 * | caller: waiting | a lease may pass to it  | started, without a request                                         |
 * |                 | its entry is granted    | started                                                            |
 * |                 | timed out, aborted      | refused; the next caller inherits its entry, or it is withdrawn    |
 * |                 | shutdown, store refuses | refused                                                            |
 * | entry: asking   | granted                 | gone; its caller starts, or the grant is released if none needs it |
 * |                 | queued                  | queued: polls (P14)                                                |
 * |                 | failed, may be retried  | retrying, in doubt if the request may have been carried out        |
 * |                 | failed, conflict        | withdrawn; its callers are refused                                 |
 * |                 | its caller is gone      | inherited by the next caller; with none, withdrawn at the reply    |
 * | entry: queued   | pushed grant            | gone; its caller starts and claims (P12)                           |
 * |                 | poll, reconnected       | asking                                                             |
 * |                 | its caller is gone      | inherited, or withdrawn                                            |
 * | entry: retrying | time is up, reconnected | asking                                                             |
 * | lease: in use   | its last hold ends      | in use by the next caller, parked, or released                     |
 * |                 | lost, broken            | gone                                                               |
 * | lease: parked   | reserved                | in use by the next caller, or released                             |
 * |                 | budget ends, no callers | released                                                           |
 *
 * After each event, `settle` restores the invariants: every caller has a lease or an entry that will serve or wake it,
 * or is behind one that has; no entry and no idle lease is kept without a caller that needs it.
 */
export class KeyMachine<C extends Caller<C>, L extends LocalLease> {
  readonly waiting = new LinkedQueue<C>();
  readonly queue: StoreQueue<C, L>;
  /** The leases of this process on the key. */
  leases: readonly L[] = NONE;
  /** Until when the leases here serve every caller like the previous one, so that there is nothing to settle. */
  private enoughUntil = -Infinity;
  /** The permits of these callers. */
  private enoughFor = 1;

  constructor(readonly effects: KeyEffects<C, L>) {
    this.queue = new StoreQueue(this, effects);
  }

  // What is known

  /** Whether the lock is known to be held, so that the next caller has to wait. */
  isBusy(now: MonotonicMs): boolean {
    return this.isAnyGood(now) || this.queue.isBehindOthers(now);
  }

  /** Whether a caller with this limit need not ask the store, which could only reply that the lock is held. */
  keepsOut(limit: number, now: MonotonicMs): boolean {
    const others = this.leases[0]?.limit ?? this.queue.first?.limit;
    return limit === 1 && others === 1 && this.isBusy(now);
  }

  /** Whether a caller that has just joined has to wait, whatever the store will reply. */
  surelyWaits(caller: C, now: MonotonicMs): boolean {
    if (!this.waiting.has(caller)) return false;
    if (this.queue.size === 0 || this.keepsOut(caller.limit, now)) return this.isBusy(now);
    return this.queue.of(caller) === undefined && this.queue.isBehindOthers(now);
  }

  /** The callers that an entry represents. */
  callersAt(entry: QueueEntry<C> | undefined): readonly C[] {
    const caller = entry?.caller;
    if (caller === undefined || entry !== this.queue.first) return caller === undefined ? [] : [caller];
    return [...this.waiting].filter((each) => each === caller || this.queue.of(each) === undefined);
  }

  /** The number of these callers, as the store shows it. */
  countAt(entry: QueueEntry<C>): number {
    return entry === this.queue.first ? Math.max(1, this.waiting.size - this.queue.size + 1) : 1;
  }

  /** How many tokens to request with a grant. */
  tokensWith({ leaseTime, limit }: C, contended: boolean): number {
    const { size } = this.waiting;
    if (leaseTime !== undefined || size < 2 || !this.effects.canReserve) return 1;
    if (limit === Infinity) return contended ? maxTokens(limit) : tokensFor(size, limit);
    return tokensFor(limit === 1 ? size : Math.ceil(size / this.queue.size), limit);
  }

  // Events of callers

  join(caller: C, now: MonotonicMs): void {
    const { first } = this.queue;
    if (first?.isAnswered === true && !limitsAgree(first.limit, caller.limit)) {
      this.refuse(caller, { because: 'limit', limit: first.limit });
      return;
    }
    this.waiting.join(caller);
    if (caller.needsOwnLease || !this.isHeadServed(now)) this.settle(now);
  }

  /** The caller has timed out, or its signal was aborted. */
  leave(caller: C, because: 'timeout' | 'aborted', now: MonotonicMs): void {
    const { queue, waiting, effects } = this;
    const isPart = caller.partOf !== undefined;
    const isTimeout = because === 'timeout';
    const why: Refusal = isTimeout ? this.whyNotServed(caller, now) : { because: 'aborted' };
    const isNothingKnown = queue.isNothingKnown && this.leases.length === 0;
    const isUnanswered = isNothingKnown || (why.because === 'unavailable' && why.failure === undefined);
    if (isTimeout && isUnanswered && !caller.prolonged && !isPart) {
      caller.prolong(now);
      return;
    }
    const error = effects.explain(caller, why);
    waiting.leave(caller);
    const freed = this.settle(now);
    if (isTimeout && isPart && freed?.isAsking === true) queue.abandon(freed, now);
    // No entry stays in the store after the caller sees the timeout.
    const isLeaving = (freed !== undefined || waiting.size === 0) && queue.leaving.size > 0;
    effects.refuse(caller, error, isTimeout && isLeaving && (!isUnanswered || isPart));
  }

  /** The application shuts down: refuses the selected callers. */
  shutDown(selects: (caller: C) => boolean, now: MonotonicMs): void {
    for (const caller of this.waiting.leaveAll(selects)) this.refuse(caller, { because: 'closed' });
    this.settle(now);
  }

  /** A caller without a queue position is about to request this key. */
  returnIdle(now: MonotonicMs): void {
    if (this.waiting.size === 0) this.returnParked(now);
  }

  // Events of leases

  /** A caller without a queue position acquired the lock: its lease may pass on to later callers. */
  adopt(lease: L, now: MonotonicMs): readonly L[] {
    const superseded = this.keep(lease);
    this.settle(now);
    return superseded;
  }

  /** The last hold on the lease has ended. Returns whether the lease stays here. */
  onHoldEnded(lease: L, now: MonotonicMs): boolean {
    this.timeOutOverdue(now);
    // A reader behind a writer that had timed out has begun on it.
    if (lease.users > 0) return true;
    const head = this.waiting.first;
    if (head === undefined || !this.canServe(lease, head)) return false;
    const { budget } = lease;
    if (budget === undefined || !this.effects.leases.isSure(lease, now)) return false;
    const inTurn = isInTurn(head, budget);
    if (!inTurn || !budget.mayPass(now, isFirst(head, budget))) {
      return (inTurn || !budget.areOthersWaiting) && this.park(lease, budget, now);
    }
    this.startOn(head, lease, budget, now);
    if (!this.isHeadServed(now)) this.settle(now);
    return true;
  }

  /**
   * The last reader has left. Returns whether the lease stays for a moment, since readers that ended together may come
   * back at once; then {@link onLingered} follows.
   */
  linger(lease: L, now: MonotonicMs): boolean {
    if (!lease.isForReaders || !lease.isTransferable || this.waiting.size > 0 || this.effects.isClosing)
      return false;
    const { budget } = lease;
    if (budget?.mayPass(now) !== true || budget.areOthersWaiting) return false;
    lease.isParked = true;
    return true;
  }

  /** That moment has passed, or a caller has come. */
  onLingered(lease: L, now: MonotonicMs): void {
    if (!lease.isParked || lease.state !== 'held') return;
    if (this.waiting.size === 0) {
      this.release(lease, now);
      this.closeIfUnused();
    } else if (lease.budget !== undefined) {
      this.effects.wakeAt(lease.budget.endsAt);
    }
  }

  /** Lost, released, or kept for `holdAtLeast`. */
  onLeaseEnded(lease: L, now: MonotonicMs): void {
    if (!this.drop(lease, now)) return;
    if (this.waiting.size > 0 || this.queue.size > 0 || this.leases.length > 0) {
      this.settle(now, lease.budget?.areOthersWaiting === true);
    } else this.closeIfUnused();
  }

  /** The store has replied to a reservation, or failed to. */
  onReserved(lease: L, now: MonotonicMs): void {
    if (!this.leases.includes(lease)) return;
    if (lease.budget?.areOthersWaiting === true) this.queue.noteHeld(now);
    this.enoughUntil = -Infinity;
    if (lease.isParked) {
      // Timeouts noticed now may have ended the lease.
      if (this.onHoldEnded(lease, now) || !this.leases.includes(lease)) return;
      this.release(lease, now);
      this.settle(now, lease.budget?.areOthersWaiting === true);
    } else if (lease.limit !== 1 || this.waiting.first?.fair === true) this.settle(now);
  }

  /**
   * The time of {@link KeyEffects.wakeAt} has come: this process has used up its turn on a lease, and callers still wait.
   */
  fire(now: MonotonicMs): void {
    this.settle(now);
  }

  // Called by the queue in the store

  /** The store has granted the entry for this caller. */
  onGranted(entry: QueueEntry<C>, caller: C, grant: LeaseGrant, now: MonotonicMs): void {
    const { effects } = this;
    this.waiting.leave(caller);
    const lease = effects.open(entry, caller, grant);
    effects.start(caller, lease, grant.token, grant.startedAt, this.keep(lease));
    // One entry represents all waiting readers.
    if (lease.isForReaders) this.startReaders(lease, now, true);
    // Most locks are free and uncontended.
    const isAlone = this.waiting.size === 0 && this.queue.size === 0 && this.leases.length === 1;
    if (!isAlone) this.settle(now);
  }

  /** Refuses all callers whose limit differs from that in the store. Returns whether there were any. */
  refuseOthers(limit: number): boolean {
    const odd = this.waiting.leaveAll((caller) => !limitsAgree(caller.limit, limit));
    for (const caller of odd) this.refuse(caller, { because: 'limit', limit });
    return odd.length > 0;
  }

  /** Refuses one caller if it still waits. */
  refuseWaiting(caller: C, why: Refusal): void {
    if (!this.waiting.has(caller)) return;
    this.waiting.leave(caller);
    this.refuse(caller, why);
  }

  /** The store refuses to grant the lock. */
  refuseAll(failure: LockStoreError, now: MonotonicMs): void {
    for (const caller of this.waiting.leaveAll()) this.refuse(caller, { because: 'unavailable', failure });
    this.settle(now);
  }

  /** Ends the calls at the head whose time ran out while the event loop was blocked. */
  private timeOutOverdue(now: MonotonicMs): void {
    for (let late = this.waiting.first; late?.isOverdue(now) === true; late = this.waiting.first) {
      this.leave(late, 'timeout', now);
    }
  }

  /**
   * Serves callers from the leases here, returns idle leases that can serve no caller, and keeps as many entries in the
   * store as the remaining callers need.
   *
   * @param contended whether the lock is expected to be held
   * @returns the last entry that was left without a caller
   */
  settle(
    now: MonotonicMs,
    contended = this.leases.length > 0 && this.waiting.first?.limit === 1,
  ): QueueEntry<C> | undefined {
    let isContended = contended;
    if (this.leases.length > 0) {
      isContended = this.returnParked(now) ?? isContended;
      for (const lease of this.leases) if (lease.isForReaders) this.startReaders(lease, now);
      // More may be parked than the remaining callers need.
      if (this.waiting.size === 0) this.returnParked(now);
    }
    const head = this.waiting.first;
    const { queue } = this;
    if (head === undefined || this.leases.length === 0) this.stopLooking();
    if (head === undefined) {
      const freed = queue.size > 0 ? queue.provide([], 0, false, now) : undefined;
      this.closeIfUnused();
      return freed;
    }
    const serving = this.leases.length === 0 ? 0 : this.countServing(head, now);
    if (head.limit === 1) {
      const wanted = serving > 0 ? 0 : 1;
      return queue.size + wanted > 0 ? queue.provide([head], wanted, isContended, now) : undefined;
    }
    isContended ||= this.leases.some(({ budget }) => budget?.areOthersWaiting === true);
    return queue.providePermits(head, serving, isContended, now);
  }

  closeIfUnused(): void {
    if (this.waiting.size === 0 && this.leases.length === 0 && this.queue.isEmpty) this.effects.onUnused();
  }

  refuse(caller: C, why: Refusal): void {
    const { effects } = this;
    effects.refuse(caller, effects.explain(caller, why), false);
  }

  private isAnyGood(now: MonotonicMs): boolean {
    return this.leases.some((lease) => this.effects.leases.isGood(lease, now));
  }

  /** B11: why a caller has not acquired the lock in time. "held" only if the store has reported it recently enough. */
  private whyNotServed(caller: C, now: MonotonicMs): Refusal {
    const { queue, leases: held } = this;
    const entry = caller.limit === 1 ? queue.first : queue.of(caller);
    const limit = held[0]?.limit ?? Infinity;
    // The leases of this process leave too few permits.
    const isFull = permitsOf(held) + caller.permits > limit;
    const isAllGood = isFull && held.every((lease) => this.effects.leases.isGood(lease, now));
    const here = isAllGood || (this.isAnyGood(now) && (caller.limit === 1 || entry === undefined));
    const isSilent = this.effects.isCutOff || queue.isUnreliable(entry, now);
    if (!here && caller.lateAfter !== undefined) return { because: 'late', took: caller.lateAfter };
    if (here || queue.tellsOfHolder(caller.startedAt, isSilent)) return { because: 'held', here };
    if (caller.partOf !== undefined && queue.isNothingKnown && !isSilent) return { because: 'out-of-time' };
    return { because: 'unavailable', failure: queue.failure, waitedFor: now - caller.startedAt };
  }

  /** Whether a hold of this caller may begin on the lease when it is unused, or used only by readers. */
  private canServe(lease: L, { leaseTime, limit, permits }: C): boolean {
    if (limit !== lease.limit || permits !== lease.permits || leaseTime !== undefined) return false;
    return lease.isTransferable && !this.effects.isClosing;
  }

  /** After `holdAtLeast` the lock passes on through the store, where other processes may come first. */
  private canServeNext(lease: L, caller: C, now: MonotonicMs): boolean {
    return (lease.keptUntil ?? 0) <= now && this.canServe(lease, caller);
  }

  /** Whether the head is served like the caller before it, so that there is nothing to settle. */
  private isHeadServed(now: MonotonicMs): boolean {
    const { first } = this.waiting;
    if (first === undefined || this.queue.size > 0 || !this.isEnough(first, now)) return false;
    if (first.limit !== Infinity) return true;
    for (const lease of this.leases) this.startReaders(lease, now);
    const next = this.waiting.first;
    return next === undefined || this.isEnough(next, now);
  }

  private isEnough(caller: C, now: MonotonicMs): boolean {
    if (caller.needsOwnLease || now >= this.enoughUntil || caller.permits !== this.enoughFor) return false;
    // Another one that can no longer pass on is noticed when the turn ends.
    const [lease] = this.leases;
    return lease !== undefined && this.canServeNext(lease, caller, now);
  }

  /** How many leases are expected to serve the next callers in time, without an entry. */
  private countServing(head: C, now: MonotonicMs): number {
    let count = 0;
    let next = Infinity;
    for (const lease of this.leases) {
      const { budget, isForReaders } = lease;
      if (budget === undefined || !this.canServeNext(lease, head, now)) continue;
      const inTurn = isInTurn(head, budget);
      // Only the store knows whether another process was first.
      const mustAsk = budget.mayReserve && (!inTurn || (isForReaders && now >= budget.endsAt));
      if (mustAsk || budget.isOutOfTokens(isFirst(head, budget))) this.reserve(lease, budget, now);
      const until = isForReaders ? budget.awaitedUntil : budget.endsAt;
      if (!inTurn || now >= until || budget.isSpent) continue;
      count += 1;
      next = Math.min(next, until);
    }
    // No further lease with this many permits can exist beside these.
    const isEnough = (count + 1) * head.permits > head.limit || (count > 0 && head.limit === Infinity);
    this.enoughUntil = isEnough ? next : -Infinity;
    this.enoughFor = head.permits;
    if (count > 0) this.effects.wakeAt(next as MonotonicMs);
    return count;
  }

  /** The next hold of this process begins on the lease. */
  private startOn(caller: C, lease: L, budget: HandOverBudget, now: MonotonicMs): void {
    const { waiting } = this;
    const token = budget.pass();
    waiting.leave(caller);
    if (caller.fair) this.queue.forfeit(caller, now);
    const isBusy = waiting.size > 0 || lease.isForReaders;
    if (isBusy && budget.shouldReserve(now, isFirst(waiting.first, budget))) this.reserve(lease, budget, now);
    this.effects.start(caller, lease, token, now, NONE);
  }

  /** P25: readers at the head begin beside those on the lease. `isNew`: the lease was granted for all that waited. */
  private startReaders(lease: L, now: MonotonicMs, isNew = false): void {
    const { budget } = lease;
    if (budget === undefined) return;
    for (let head = this.waiting.first; head !== undefined; head = this.waiting.first) {
      if (!this.canServe(lease, head) || !budget.mayPass(now, isFirst(head, budget))) return;
      if (!isInTurn(head, budget) && (head.fair || !isNew)) return;
      if (!this.effects.leases.isSure(lease, now)) return;
      this.startOn(head, lease, budget, now);
    }
  }

  private reserve(lease: L, budget: HandOverBudget, now: MonotonicMs): void {
    budget.reserving(now);
    const { size } = this.waiting;
    const callers = lease.isForReaders ? size + lease.users : Math.ceil(size / this.leases.length);
    this.effects.reserve(lease, budget, tokensFor(callers, lease.limit));
  }

  /** Keeps the lease without a hold while a reservation is pending: one round trip is shorter than two. */
  private park(lease: L, budget: HandOverBudget, now: MonotonicMs): boolean {
    if (!budget.isAwaited(now)) return false;
    lease.isParked = true;
    this.effects.wakeAt(budget.endsAt);
    return true;
  }

  /**
   * Returns parked leases that can serve no caller, or not in time. Undefined if there were none; otherwise whether
   * other processes are known to wait for one of them.
   */
  private returnParked(now: MonotonicMs): boolean | undefined {
    let areOthersWaiting: boolean | undefined;
    for (const lease of this.leases) {
      if (!lease.isParked || lease.state !== 'held') continue;
      const { budget } = lease;
      const { first } = this.waiting;
      if (first !== undefined && !isOverdue(lease, now) && this.canServe(lease, first)) {
        // All leases share one timer.
        if (budget !== undefined) this.effects.wakeAt(budget.endsAt);
        continue;
      }
      areOthersWaiting = areOthersWaiting === true || budget?.areOthersWaiting === true;
      this.release(lease, now);
      this.closeIfUnused();
    }
    return areOthersWaiting;
  }

  /** Returns a parked lease to the store. */
  private release(lease: L, now: MonotonicMs): void {
    this.drop(lease, now);
    this.queue.leaving.begin();
    this.effects.release(lease);
  }

  /** Returns the leases that the store can no longer have, now that it has granted this one. */
  private keep(lease: L): readonly L[] {
    const { leases: held } = this;
    this.enoughUntil = -Infinity;
    // The whole lock, or another limit: the store grants that only if this process holds nothing.
    if (lease.limit === 1 || lease.limit !== held[0]?.limit) {
      this.leases = [lease];
      this.effects.clearWake();
      return held;
    }
    this.leases = [...held, lease];
    return NONE;
  }

  private drop(lease: L, now: MonotonicMs): boolean {
    if (!this.leases.includes(lease)) return false;
    this.queue.noteHeld(now);
    this.leases = this.leases.length === 1 ? NONE : this.leases.filter((each) => each !== lease);
    if (this.leases.length === 0) this.stopLooking();
    this.enoughUntil = -Infinity;
    return true;
  }

  private stopLooking(): void {
    this.enoughUntil = -Infinity;
    this.effects.clearWake();
  }
}

/**
 * Whether a hold of this caller delays no earlier caller of another process beyond the limits. A caller in strict order
 * must have joined before any other process waited; so must a reader if other processes wait.
 */
function isInTurn<C extends Caller<C>>({ fair, limit, joinedAt }: C, budget: HandOverBudget): boolean {
  if (!fair && (limit !== Infinity || !budget.areOthersWaiting)) return true;
  return joinedAt <= budget.settledAt;
}

/**
 * Whether the caller wants strict order and comes before those of all other processes, so that their limits don't apply.
 */
function isFirst<C extends Caller<C>>(caller: C | undefined, budget: HandOverBudget): boolean {
  return caller?.fair === true && caller.joinedAt <= budget.settledAt;
}

function isOverdue({ isParked, budget }: LocalLease, now: MonotonicMs): boolean {
  return isParked && (budget === undefined || now >= budget.endsAt);
}
