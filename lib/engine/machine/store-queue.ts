import { CallsInFlight } from '../../common/deferred.js';
import type { Timer } from '../../common/timer-queue.js';
import type {
  AcquireReply,
  Grant,
  LockStoreError,
  MonotonicMs,
  OwnerId,
  PushedGrant,
} from '../../stores/port/lock-store.js';
import { CLAIM_LEASE, isLeaseTooShort, lateAnswer, SILENCE } from './time-limits.js';
import type { Caller, KeyMachine, LocalLease } from './key-machine.js';

/** The most entries of one process for one key: enough to fill every freed permit, and few enough to poll. */
const MAX_ENTRIES = 64;

const NONE: readonly never[] = [];

/** The end of leases that began no earlier than `startedAt`. */
export interface LeaseClock {
  /** Until when such a lease can be relied on. */
  deadlineOf(startedAt: MonotonicMs, lease: number): MonotonicMs;
  /** Whether such a lease may have ended by now. */
  mayBeOver(startedAt: MonotonicMs, lease: number): boolean;
}

/** What a queue entry requests to be done. */
export interface QueueEffects<C> {
  readonly leases: LeaseClock;
  /** Whether one request can reserve tokens for several holds, so that readers of one process can use one lease. */
  readonly canReserve: boolean;
  /** A new owner id. */
  nextOwner(): OwnerId;
  /**
   * Requests the lock or a position in the store's queue. The outcome is passed to {@link StoreQueue.onReplied} or
   * {@link StoreQueue.onFailed}. Returns when the request was sent.
   */
  acquire(entry: QueueEntry<C>, caller: C): MonotonicMs;
  /** Removes the entry's owner from the store, in the background, and ends one of {@link StoreQueue.leaving} when that is done. */
  cancel(entry: QueueEntry<C>): void;
  /** The pause of an entry has ended: passes that to the queue. */
  onDue(entry: QueueEntry<C>): void;
  /** Calls {@link StoreQueue.onDue} when the holder's lease ends, or when the heartbeat is due. */
  poll(entry: QueueEntry<C>, holderLeaseLeft: number | undefined): void;
  /** Calls {@link StoreQueue.onDue} after a pause that grows with the failures. */
  retry(entry: QueueEntry<C>, failures: number): void;
  clearTimer(entry: QueueEntry<C>): void;
  /** Routes the store's pushed messages to the entry. */
  onOpened(entry: QueueEntry<C>): void;
  onClosed(entry: QueueEntry<C>): void;
  /** Callers of this key wait for other holders. */
  reportQueued(holderLeaseLeft: number | undefined): void;
  /** Why a request for waiting callers failed, which will be repeated. */
  reportFailure(failure: LockStoreError): void;
  /** Handles another event after this one, and after users have been notified of it. */
  afterwards(event: () => void): void;
}

/**
 * - `asking`: a request is pending, or its reply is being handled
 * - `queued`: the store keeps a position for the entry; the next poll is scheduled
 * - `retrying`: the last request failed; the next one is scheduled
 * - `gone`: granted, withdrawn or abandoned
 */
type EntryState = 'asking' | 'queued' | 'retrying' | 'gone';

/**
 * One position of this process in the store's queue, under an owner id that is used once. It belongs to the process,
 * not to a caller: when its caller is served in another way or leaves, the next one with the same limit inherits it, so
 * that the process keeps its turn. Only {@link StoreQueue} changes it.
 */
export class QueueEntry<C> implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  state: EntryState = 'asking';
  /** When the pending request was sent. */
  askedAt: MonotonicMs | undefined;
  /** The lease that the store would grant for this position. */
  askedLease = 0;
  /** The caller of the last request, and when that was sent. */
  askedFor: C | undefined;
  sentAt = 0 as MonotonicMs;
  isAnswered = false;
  /** The shortest lease of the requests in doubt, which may still be carried out. */
  shortestInDoubt = Infinity;
  /** Whether a grant was broken while a request was pending, whose reply may report that grant. */
  wasBroken = false;
  /** Whether to request again instead of pausing. */
  isWoken = false;
  /** Consecutive failed requests. */
  failures = 0;
  pushed: PushedGrant | undefined;

  constructor(
    readonly owner: OwnerId,
    /** Fixed: an entry serves callers of one limit only. */
    readonly limit: number,
    /** Fixed: callers with other permits have separate entries. */
    readonly permits: number,
    /** The caller it requests the lock for; undefined when no caller needs it. */
    public caller: C | undefined,
    /** Whether the lock is known or expected to be held, so that the entry queues. */
    public isContended: boolean,
    private readonly effects: QueueEffects<C>,
  ) {}

  /** Whether a request of this owner may still be carried out. */
  get inDoubt(): boolean {
    return this.shortestInDoubt < Infinity;
  }

  get isAsking(): boolean {
    return this.askedAt !== undefined;
  }

  /** Whether the store may know this owner. */
  get mayExist(): boolean {
    return this.isAnswered || this.inDoubt || this.isAsking;
  }

  /** Whether the entry can serve this caller. */
  suits({ limit, permits }: { readonly limit: number; readonly permits: number }): boolean {
    return this.limit === limit && this.permits === permits;
  }

  /** The last request may still be carried out. */
  mayComeLater(): void {
    this.shortestInDoubt = Math.min(this.shortestInDoubt, this.askedLease);
  }

  fire(): void {
    this.effects.onDue(this);
  }
}

/** The positions of this process in the store's queue of one key, and what the store has reported about the key. */
export class StoreQueue<C extends Caller<C>, L extends LocalLease> {
  /** Why the last request failed, if it did. */
  failure: LockStoreError | undefined;
  /** Entries with a caller, in the order of their callers. */
  private entries: readonly QueueEntry<C>[] = NONE;
  /** Entries without a caller, whose reply is pending. */
  private freed: readonly QueueEntry<C>[] = NONE;
  /** Pending withdrawals and releases, and entries without a caller. */
  readonly leaving = new CallsInFlight();
  /** Whether the store has reported who comes first, and when it last did. */
  private isTold = false;
  private toldAt = -Infinity;
  /** When the holder's lease ends, if the store has reported it. */
  private freeAt: number | undefined;

  constructor(
    private readonly machine: KeyMachine<C, L>,
    private readonly effects: QueueEffects<C>,
  ) {}

  get size(): number {
    return this.entries.length;
  }

  get first(): QueueEntry<C> | undefined {
    return this.entries[0];
  }

  get isEmpty(): boolean {
    return this.entries.length === 0 && this.freed.length === 0;
  }

  /** Whether the store has recently reported that other processes come before the first entry. */
  isBehindOthers(now: MonotonicMs): boolean {
    const { first } = this;
    return this.failure === undefined && first?.isAnswered === true && !isSilent(first, now);
  }

  /** Whether the store has reported nothing about the key, and has not failed. */
  get isNothingKnown(): boolean {
    return !this.isTold && this.failure === undefined;
  }

  entryOf(owner: OwnerId): QueueEntry<C> | undefined {
    const hasOwner = (entry: QueueEntry<C>): boolean => entry.owner === owner;
    return this.entries.find(hasOwner) ?? this.freed.find(hasOwner);
  }

  of(caller: C): QueueEntry<C> | undefined {
    return this.entries.find((entry) => entry.caller === caller);
  }

  /** ms left of the holder's lease, if known. */
  holderLeaseLeft(now: MonotonicMs): number | undefined {
    return this.freeAt === undefined ? undefined : Math.max(0, Math.round(this.freeAt - now));
  }

  /** Whether another holder is known to have kept a caller waiting that called at that time. */
  tellsOfHolder(startedAt: MonotonicMs, isUnreliable: boolean): boolean {
    return this.failure === undefined && (this.toldAt >= startedAt || (this.isTold && !isUnreliable));
  }

  /**
   * Whether the last report is outdated while the store owes a reply to the entry, or, for a caller without an entry, to
   * the first one.
   */
  isUnreliable(entry: QueueEntry<C> | undefined, now: MonotonicMs): boolean {
    const asking = entry ?? this.first;
    if (asking !== undefined && isSilent(asking, now)) return true;
    if (entry === undefined || entry.limit === 1) return false;
    return this.isTold && now - this.toldAt > SILENCE && !this.isAnyAnswered;
  }

  // Events

  onReplied(entry: QueueEntry<C>, reply: AcquireReply, now: MonotonicMs): void {
    if (entry.state === 'gone') return;
    const { askedFor, isAnswered: wasQueued } = entry;
    entry.askedAt = undefined;
    entry.isAnswered = true;
    entry.failures = 0;
    if (reply.outcome !== 'granted' && reply.outcome !== 'cancelled' && reply.outcome !== 'conflict') {
      this.onQueued(entry, reply.holderLeaseLeft, now);
      return;
    }
    if (reply.outcome === 'granted') {
      this.failure = undefined;
      // Others came first until then, even if no caller can use the grant.
      if (wasQueued) this.noteHeld(entry.sentAt);
      this.onGranted(entry, reply, now);
      return;
    }
    // A conflict is reported to the caller of the request, even if the entry now represents another one: otherwise
    // entries that pass from caller to caller would request for ever. An entry without a caller reports it to none:
    // that caller has another entry.
    if (reply.outcome === 'conflict') {
      this.heard(now);
      if (entry.caller !== undefined && askedFor !== undefined)
        this.machine.refuseWaiting(askedFor, { because: 'limit', limit: reply.limit });
    }
    this.withdraw(entry, now);
  }

  onFailed(entry: QueueEntry<C>, error: LockStoreError, now: MonotonicMs): void {
    if (entry.state === 'gone') return;
    if (error.inDoubt) entry.mayComeLater();
    entry.askedAt = undefined;
    entry.wasBroken = false;
    this.failure = error;
    if (error.retryable) {
      if (this.machine.waiting.size > 0) this.effects.reportFailure(error);
      entry.failures += 1;
      this.pause(entry, 'retrying', now);
      return;
    }
    // Repeating the request can't help.
    this.machine.refuseAll(error, now);
    // Later, so that a listener that calls again inherits the entry, and with it the pause before the next request.
    this.effects.afterwards(() => {
      if (entry.state !== 'gone') this.withdraw(entry, now, error, true);
    });
  }

  /** The store has granted the lock without another request. */
  onPushed(entry: QueueEntry<C>, grant: PushedGrant, now: MonotonicMs): void {
    entry.pushed = grant;
    // Others held the lock until this grant began, even if no caller can use the grant.
    this.noteHeld(grant.startedAt);
    this.wake(entry, now);
  }

  /** The grant of this owner was broken by force. */
  onBroken(entry: QueueEntry<C>, now: MonotonicMs): void {
    entry.pushed = undefined;
    entry.wasBroken = entry.isAsking;
    this.wake(entry, now);
  }

  /** The store reports, before its reply, that other processes come first. */
  onHeldByOthers(entry: QueueEntry<C>, holderLeaseLeft: number | undefined, now: MonotonicMs): void {
    if (!entry.isAsking) return;
    entry.askedAt = now;
    this.heard(now);
    this.freeAt = holderLeaseLeft === undefined ? undefined : now + holderLeaseLeft;
  }

  /** Messages may have been missed: every entry requests again. */
  pollNow(now: MonotonicMs): void {
    for (const entry of this.entries) this.wake(entry, now);
  }

  /** The pause of an entry has ended. */
  onDue(entry: QueueEntry<C>, now: MonotonicMs): void {
    if (entry.state === 'gone') return;
    entry.state = 'asking';
    this.proceed(entry, now);
  }

  /** Callers here had to wait: for a hold of this process, or for other processes that come first. */
  noteHeld(now: MonotonicMs): void {
    this.toldAt = Math.max(this.toldAt, now);
  }

  // Set of entries

  /**
   * Assigns entries to the callers that need one, in order, and opens more, up to `wanted` in total. Withdraws entries
   * that no caller needs.
   *
   * @param contended whether the lock is expected to be held
   * @returns the last entry that was left without a caller
   */
  provide(
    needy: readonly C[],
    wanted: number,
    contended: boolean,
    now: MonotonicMs,
  ): QueueEntry<C> | undefined {
    let freed: QueueEntry<C> | undefined;
    let count = 0;
    for (const caller of needy) {
      // The caller had timed out.
      if (!this.machine.waiting.has(caller)) continue;
      let entry = this.entries[count];
      while (entry !== undefined && !entry.suits(caller)) {
        freed = this.free(entry, now);
        entry = this.entries[count];
      }
      if (entry !== undefined) this.standFor(entry, caller, now);
      else if (count >= wanted || !this.openFor(caller, contended, now)) break;
      count += 1;
    }
    for (let entry = this.entries[count]; entry !== undefined; entry = this.entries[count])
      freed = this.free(entry, now);
    return freed;
  }

  /**
   * The same for permits: one entry for each of the first callers, as many as could hold the lock together, plus the
   * next one; but a single entry for all readers that can use one lease.
   *
   * @param serving how many leases of this process are expected to serve the next callers
   */
  providePermits(head: C, serving: number, contended: boolean, now: MonotonicMs): QueueEntry<C> | undefined {
    const { limit } = head;
    const isForReaders = limit === Infinity;
    const most = isForReaders ? MAX_ENTRIES : MAX_ENTRIES - serving;
    let permits = isForReaders ? limit : limit - serving * head.permits;
    // An entry for the head could not be granted beside these leases.
    if (serving > 0 && permits < head.permits) permits = 0;
    const canShare = isForReaders && this.effects.canReserve;
    let isCovered = canShare && serving > 0;
    let wanted = 0;
    let count = 0;
    const needy: C[] = [];
    for (let each: C | undefined = head; each?.limit === limit; each = each.next, count++) {
      if (count < most && permits > 0) wanted = count + 1;
      else if (count >= this.size) break;
      permits -= each.permits;
      const shares = canShare && !each.needsOwnLease;
      if (!shares || !isCovered) needy.push(each);
      isCovered ||= shares;
    }
    return this.provide(needy, wanted, contended, now);
  }

  /**
   * P26: a caller in strict order was served without its entry, which must not pass on: earlier callers of other
   * processes may exist.
   */
  forfeit(caller: C, now: MonotonicMs): void {
    const entry = this.of(caller);
    if (entry === undefined) return;
    this.free(entry, now);
    if (entry.isAsking) this.abandon(entry, now);
  }

  /** Withdraws the entry without waiting for the reply to its request. */
  abandon(entry: QueueEntry<C>, now: MonotonicMs): void {
    entry.mayComeLater();
    this.withdraw(entry, now);
  }

  // Inside

  private onQueued(entry: QueueEntry<C>, holderLeaseLeft: number | undefined, now: MonotonicMs): void {
    const { machine, effects } = this;
    entry.isContended = true;
    entry.wasBroken = false;
    this.heard(now);
    this.freeAt = holderLeaseLeft === undefined ? undefined : now + holderLeaseLeft;
    for (const caller of machine.callersAt(entry)) caller.lateAfter = undefined;
    const wereOthers = machine.refuseOthers(entry.limit);
    effects.reportQueued(holderLeaseLeft);
    // The next permits can queue behind it; and no entry may represent a caller that was refused.
    if (entry.limit !== 1 || wereOthers) machine.settle(now);
    if (entry.caller?.lease === entry.askedLease) this.pause(entry, 'queued', now, holderLeaseLeft);
    else this.proceed(entry, now);
  }

  private onGranted(entry: QueueEntry<C>, grant: Grant, now: MonotonicMs): void {
    const { effects } = this;
    const { sentAt } = entry;
    // Entries have moved to other callers: the grant is for one with this `leaseTime`.
    if (entry.caller !== undefined && entry.caller.lease !== entry.askedLease) this.exchange(entry, now);
    const { caller, wasBroken } = entry;
    entry.wasBroken = false;
    if (caller?.lease !== entry.askedLease || wasBroken) this.withdraw(entry, now);
    else if (effects.leases.mayBeOver(sentAt, caller.lease))
      this.grantedLate(entry, caller, now - sentAt, now);
    else {
      // Only now: a grant that nobody takes does not show that anyone holds the lock.
      this.heard(now);
      this.deliver(entry, caller, grant, sentAt, caller.lease, false, now);
    }
  }

  /**
   * The caller gets a second attempt, since this process may have been stopped meanwhile. If its own `leaseTime` is
   * shorter than the store's replies take, it fails, so that callers behind it are not delayed. Late grants count even if
   * other processes had the lock in between: under contention every grant would be late, and each costs the process its turn.
   */
  private grantedLate(entry: QueueEntry<C>, caller: C, took: number, now: MonotonicMs): void {
    caller.lateAfter = took;
    if (!isLeaseTooShort(caller, took)) this.withdraw(entry, now, lateAnswer(took), true);
    else if (!this.refuseLate(entry, caller, 2, took, now)) this.withdraw(entry, now, undefined, true);
  }

  /** Counts a grant that came too late for the caller's own `leaseTime`. The last of so many ends its call: then true. */
  private refuseLate(entry: QueueEntry<C>, caller: C, most: number, took: number, now: MonotonicMs): boolean {
    caller.lateGrants += 1;
    if (caller.lateGrants < most) return false;
    this.machine.waiting.leave(caller);
    this.withdraw(entry, now);
    this.machine.refuse(caller, { because: 'late', took });
    return true;
  }

  /**
   * P12: the lock is held already, so its caller starts at once, and the lease is claimed in the same tick. False if it
   * has to be requested again.
   */
  private deliverPushed(entry: QueueEntry<C>, caller: C, now: MonotonicMs): boolean {
    const { pushed } = entry;
    if (pushed === undefined) return false;
    entry.pushed = undefined;
    // A repeated request claims a grant with the lease that was requested. If such a request was lost, only the store
    // knows the lease.
    if (entry.shortestInDoubt < pushed.lease || !Number.isSafeInteger(pushed.token)) return false;
    // Granted for a former caller with a shorter `leaseTime`: it may end before this one has claimed it.
    if (pushed.lease < Math.min(caller.lease, CLAIM_LEASE)) return false;
    const lease = Math.min(pushed.lease, caller.lease);
    if (this.effects.leases.mayBeOver(pushed.startedAt, lease)) {
      // P13: requested again instead of started. One more may be late than of replies, as the network may delay two together.
      const took = now - pushed.startedAt;
      return isLeaseTooShort(caller, took) && this.refuseLate(entry, caller, 3, took, now);
    }
    this.deliver(entry, caller, pushed, pushed.startedAt, lease, true, now);
    return true;
  }

  private deliver(
    entry: QueueEntry<C>,
    caller: C,
    grant: Grant | PushedGrant,
    startedAt: MonotonicMs,
    lease: number,
    unclaimed: boolean,
    now: MonotonicMs,
  ): void {
    this.remove(entry);
    const deadline = this.effects.leases.deadlineOf(startedAt, lease);
    this.machine.onGranted(entry, caller, { ...grant, startedAt, deadline, unclaimed }, now);
  }

  /** The store replied without a failure. */
  private heard(now: MonotonicMs): void {
    this.isTold = true;
    this.toldAt = now;
    this.failure = undefined;
  }

  /** Requests the lock for the caller, unless a grant has been pushed meanwhile. */
  private proceed(entry: QueueEntry<C>, now: MonotonicMs): void {
    if (entry.pushed !== undefined) {
      // They timed out while the event loop was blocked; the next caller inherits the grant.
      for (let late = entry.caller; late?.isOverdue(now) === true; late = entry.caller) {
        this.machine.leave(late, 'timeout', now);
      }
    }
    const { caller } = entry;
    if (caller === undefined) this.withdraw(entry, now);
    else if (!this.deliverPushed(entry, caller, now)) this.request(entry, caller);
  }

  private request(entry: QueueEntry<C>, caller: C): void {
    entry.state = 'asking';
    entry.isWoken = false;
    entry.askedLease = caller.lease;
    entry.askedFor = caller;
    entry.sentAt = entry.askedAt = this.effects.acquire(entry, caller);
  }

  private pause(
    entry: QueueEntry<C>,
    state: 'queued' | 'retrying',
    now: MonotonicMs,
    holderLeaseLeft?: number,
  ): void {
    if (entry.isWoken) {
      this.proceed(entry, now);
      return;
    }
    entry.state = state;
    if (state === 'queued') this.effects.poll(entry, holderLeaseLeft);
    else this.effects.retry(entry, entry.failures);
  }

  /** Ends the pause, or skips the next one. */
  private wake(entry: QueueEntry<C>, now: MonotonicMs): void {
    if (entry.state === 'asking') entry.isWoken = true;
    else if (entry.state !== 'gone') {
      this.effects.clearTimer(entry);
      entry.state = 'asking';
      this.proceed(entry, now);
    }
  }

  private standFor(entry: QueueEntry<C>, caller: C | undefined, now: MonotonicMs): void {
    if (entry.caller === caller) return;
    entry.caller = caller;
    if (caller?.lease !== entry.askedLease) this.wake(entry, now);
  }

  /**
   * Withdraws the entry; requests again under a new owner id if `isRepeated` and its caller still waits.
   *
   * @param failure why, if the store caused it
   */
  private withdraw(
    entry: QueueEntry<C>,
    now: MonotonicMs,
    failure?: LockStoreError,
    isRepeated = false,
  ): void {
    const { caller } = entry;
    const { machine } = this;
    const wasNeeded = this.remove(entry);
    const isReopened = wasNeeded && isRepeated && caller !== undefined && machine.waiting.has(caller);
    if (isReopened) {
      this.failure = failure;
      const again = this.add(caller, entry.limit !== 1);
      again.state = 'retrying';
      this.effects.retry(again, 1);
      // The new entry is the last one: the caller inherits the next existing entry, if any, before that is granted.
      machine.settle(now);
    }
    if (entry.mayExist) {
      // Without other entries that were replied to, no known holder keeps this process waiting.
      if (!this.isAnyAnswered) this.isTold = false;
      this.leaving.begin();
      this.effects.cancel(entry);
    }
    if (!wasNeeded) machine.closeIfUnused();
    else if (!isReopened) machine.settle(now);
  }

  /** Returns whether a caller needed the entry. */
  private remove(entry: QueueEntry<C>): boolean {
    if (entry.state === 'queued' || entry.state === 'retrying') this.effects.clearTimer(entry);
    entry.state = 'gone';
    this.effects.onClosed(entry);
    if (this.freed.includes(entry)) {
      this.freed = without(this.freed, entry);
      this.leaving.end();
      return false;
    }
    this.entries = without(this.entries, entry);
    return true;
  }

  private free(entry: QueueEntry<C>, now: MonotonicMs): QueueEntry<C> {
    this.entries = without(this.entries, entry);
    this.freed = [...this.freed, entry];
    this.leaving.begin();
    this.standFor(entry, undefined, now);
    return entry;
  }

  /**
   * While a caller finds out whether the lock is free, no other may overtake it: neither one that queues at once, nor
   * one that needs fewer permits.
   */
  private openFor(caller: C, contended: boolean, now: MonotonicMs): boolean {
    const isBusy = contended || this.entries.some(({ isContended }) => isContended);
    const isAhead = ({ isAnswered, isContended, permits }: QueueEntry<C>): boolean =>
      !isAnswered && !isContended && (isBusy || permits > caller.permits);
    if (this.entries.some(isAhead)) return false;
    if (!this.takeBack(caller, now)) this.proceed(this.add(caller, isBusy), now);
    return true;
  }

  /**
   * Assigns an entry without a caller whose request is pending. Returns whether there was one. Its position may be
   * before those of callers ahead, which a request for fewer permits must not overtake.
   */
  private takeBack(caller: C, now: MonotonicMs): boolean {
    if (this.entries.some(({ permits }) => permits !== caller.permits)) return false;
    for (const entry of this.freed) {
      if (!entry.suits(caller)) continue;
      this.freed = without(this.freed, entry);
      this.entries = [...this.entries, entry];
      this.standFor(entry, caller, now);
      this.leaving.end();
      return true;
    }
    return false;
  }

  private add(caller: C, contended: boolean): QueueEntry<C> {
    const entry = new QueueEntry(
      this.effects.nextOwner(),
      caller.limit,
      caller.permits,
      caller,
      contended,
      this.effects,
    );
    this.entries = this.entries.length === 0 ? [entry] : [...this.entries, entry];
    this.effects.onOpened(entry);
    return entry;
  }

  /**
   * Swaps callers with another entry, so that this one represents a caller with the requested `leaseTime`. Otherwise
   * entries that pass from caller to caller while requesting would be withdrawn again and again, and no caller would be
   * served.
   */
  private exchange(entry: QueueEntry<C>, now: MonotonicMs): void {
    const { caller, askedLease } = entry;
    const other = this.entries.find((each) => each.suits(entry) && each.caller?.lease === askedLease);
    if (other === undefined) return;
    this.standFor(entry, other.caller, now);
    this.standFor(other, caller, now);
  }

  private get isAnyAnswered(): boolean {
    return this.entries.some(({ isAnswered }) => isAnswered);
  }
}

function without<T>(all: readonly T[], one: T): readonly T[] {
  if (all.length === 1) return all[0] === one ? NONE : all;
  return all.filter((each) => each !== one);
}

/** Whether the store has owed a reply for so long that its earlier ones can't be relied on. */
function isSilent<C>({ askedAt }: QueueEntry<C>, now: MonotonicMs): boolean {
  return askedAt !== undefined && now - askedAt > SILENCE;
}
