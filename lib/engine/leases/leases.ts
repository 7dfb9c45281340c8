import type { BackgroundRetry } from '../../common/background-retry.js';
import { type Clock, deadlineOf, SuspendAwareClock } from '../../common/clock.js';
import { inMs } from '../../common/durations.js';
import type { Pending, Deferred } from '../../common/deferred.js';
import { LinkedQueue } from '../../common/linked-queue.js';
import { TimerQueue } from '../../common/timer-queue.js';
import type { ReleaseOutcome } from '../../model/lock-handle.js';
import { LockLostError, type LockLostReason } from '../../model/lock.errors.js';
import {
  LockStoreError,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
  type RenewReply,
} from '../../stores/port/lock-store.js';
import { DelayedReleases, ReleaseRequest } from './lease-requests.js';
import type { LeaseGrant } from '../machine/key-machine.js';
import { EXPIRED, type GrantedRequest, Lease, type LeaseHolder, type LeaseTerms, RELEASED } from './lease.js';
import type { EventHub } from '../report/event-hub.js';
import type { LockReporter } from '../report/lock-reporter.js';
import type { StoreReporter } from '../report/store-reporter.js';
import { LongHolds } from './long-holds.js';
import { renewLeases, Watchdog } from './watchdog.js';

const MICROTASK = Promise.resolve();

/** If the clocks disagree by more than this, ms, the store is asked how much of a lease is left. */
const DISAGREEMENT = 500;

/** The parts of the engine that leases use. */
export interface LeaseContext {
  readonly watchdogTimeout: number;
  readonly clock: Clock;
  readonly session: LockStoreSession;
  readonly backgroundRetry: BackgroundRetry;
  readonly hub: EventHub;
  readonly reporter: LockReporter;
  readonly storeReporter: StoreReporter;
  readonly leases: Leases;
}

/** A lease that could not be extended, and why. */
export interface FailedExtension {
  readonly lease: Lease;
  readonly failure: LockStoreError;
}

/** All leases of this process that are neither released nor lost, and the ways in which a lease ends. */
export class Leases {
  /** In the order of their grants. */
  readonly all = new LinkedQueue<Lease>();
  readonly watchdog: Watchdog;
  /** Leases that stay held for `holdAtLeast` though their holds have ended. */
  readonly delayed: DelayedReleases;
  /** Holds older than `warnHeldAfter`. */
  readonly long: LongHolds;
  private readonly cautious: SuspendAwareClock;
  /** Timers that don't keep the process alive. */
  private readonly timers: TimerQueue;
  /** Leases that were lost at shutdown, and their holds whose work has not ended. */
  private readonly abandoned = new Map<Lease, Set<LeaseHolder>>();
  private isWatchingSoon = false;
  private onDrained: (() => void) | undefined;

  constructor(
    private readonly engine: LeaseContext,
    warnHeldAfter: number,
  ) {
    const { clock } = engine;
    this.timers = new TimerQueue(clock, false);
    this.long = new LongHolds(engine, this.timers, warnHeldAfter);
    this.cautious = new SuspendAwareClock(clock, this.wallClockJumped);
    this.delayed = new DelayedReleases(engine, this.timers, (lease) => this.sendRelease(lease));
    this.watchdog = new Watchdog(engine, this, this.cautious, this.timers);
  }

  open(request: GrantedRequest, terms: LeaseTerms, grant: LeaseGrant): Lease {
    const lease = new Lease(request, terms, grant, this.cautious.at(grant.startedAt), this.atDeadline);
    this.all.join(lease);
    this.watchSoon();
    this.engine.storeReporter.granted();
    return lease;
  }

  /** Resolves when there are none. */
  drained(): Promise<void> {
    if (this.all.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.onDrained = resolve;
    });
  }

  /** The lease is lost at its deadline unless it is renewed. */
  watchDeadline(lease: Lease): void {
    this.timers.set(lease, lease.deadline);
  }

  /** Whether the lease can be relied on now. Detects a loss before any timer has fired. */
  isGood(lease: Lease, now = this.engine.clock.monotonic()): boolean {
    if (lease.isGood(now)) return true;
    if (lease.state === 'held') this.loseByTime(lease);
    return false;
  }

  /**
   * ms for which the lease is surely held. 0 for a good lease that may have ended because the wall clock jumped ahead
   * after the store had confirmed it; the store is then asked.
   */
  sureFor(lease: Lease, now = this.engine.clock.monotonic()): number {
    const sureFor = lease.sureFor(now, this.cautious.read(now));
    if (sureFor > 0) return sureFor;
    if (lease.isGood(now)) this.watchdog.verifyOnce(lease);
    return 0;
  }

  isSure(lease: Lease, now?: MonotonicMs): boolean {
    return this.sureFor(lease, now) > 0;
  }

  /** For display, in whole ms. */
  remaining(lease: Lease): number {
    return Math.floor(this.sureFor(lease));
  }

  /** The store may have lost its data of these keys: verifies all of their leases now. */
  verify(concerns?: (key: string) => boolean): void {
    for (const lease of [...this.all]) if (concerns?.(lease.key) ?? true) this.watchdog.verify(lease);
  }

  /** The time, for a request that is sent next; see {@link SuspendAwareClock.sendingAt}. */
  sendingAt(): MonotonicMs {
    return this.cautious.sendingAt();
  }

  /** Whether a lease that began no earlier than `startedAt` may have ended, so that no hold may begin on it. */
  mayBeOver(startedAt: MonotonicMs, lease: number): boolean {
    return deadlineOf(this.cautious.at(startedAt), this.unrenewed(lease)) <= this.cautious.read();
  }

  /** Until when a lease that began no earlier than `startedAt` can be relied on, if it is not renewed. */
  deadlineOf(startedAt: MonotonicMs, lease: number): MonotonicMs {
    return deadlineOf(startedAt, this.unrenewed(lease));
  }

  /**
   * Ends a hold on a good lease: the lock passes to the next caller of this process, or is released in the store.
   *
   * @param mayLinger whether the lease may be released a moment later
   */
  release(
    lease: Lease,
    hold: LeaseHolder,
    endedAt: MonotonicMs,
    mayLinger: boolean,
  ): Pending<ReleaseOutcome> {
    let now = endedAt;
    lease.leave(hold);
    if (this.engine.hub.observed) {
      this.engine.reporter.released(hold, now - hold.heldFrom);
      // Listeners may take longer than the lease lasts, or release the last other hold on it.
      if (lease.state !== 'held') return outcomeOf(lease);
      now = this.engine.clock.monotonic();
    }
    // Other readers of this process use it.
    if (lease.users > 0) return RELEASED;
    const { keptUntil, runner } = lease;
    if (keptUntil !== undefined && now < keptUntil) {
      const outcome = this.delayed.keep(lease, hold, keptUntil, this.isSurelyThere(lease, now));
      this.endReleased(lease);
      return outcome;
    }
    if (runner?.onHoldEnded(lease, now) === true) return RELEASED;
    // The search for the next caller may have detected that the lease has ended.
    if (lease.state !== 'held') return outcomeOf(lease);
    lease.returnedBy = hold;
    return (mayLinger ? runner?.linger(lease, now) : undefined) ?? this.giveUp(lease);
  }

  /** Returns a lease without holds to the store. */
  giveUp(lease: Lease): Pending<ReleaseOutcome> {
    lease.returned = this.sendRelease(lease, lease.returnedBy);
    this.endReleased(lease);
    return lease.returned;
  }

  /** The store reported the loss, or the deadline has passed. */
  lose(lease: Lease, reason: LockLostReason, story: string): void {
    if (lease.state !== 'held') return;
    this.end(lease, 'lost');
    if (lease.users > 0) {
      const error = new LockLostError(`The lock "${lease.key}" was lost: ${story}.`, {
        keys: [lease.key],
        reason,
        ...(lease.renewalFailure !== undefined && { cause: lease.renewalFailure }),
      });
      const now = this.engine.clock.monotonic();
      const heldFor = new Map(lease.holders.map((hold) => [hold, now - hold.heldFrom]));
      lease.loseTo(error);
      this.engine.reporter.lost(heldFor, error, now);
    }
    lease.runner?.onLeaseEnded(lease);
  }

  /** The store no longer had the lease when its release arrived, although the hold was not known to be lost. */
  wasLost(hold: LeaseHolder): void {
    const { key } = hold;
    const story = 'the store no longer had it when it was released';
    const error = new LockLostError(`The lock "${key}" was lost: ${story}.`, {
      keys: [key],
      reason: 'expired',
    });
    hold.wasLost(error);
    const now = this.engine.clock.monotonic();
    this.engine.reporter.lost(new Map([[hold, now - hold.heldFrom]]), error, now, true);
  }

  /** The store has granted the lock again, which it would not have done if it still had this lease. */
  onSuperseded(lease: Lease): void {
    if (lease.state !== 'held') return;
    this.lose(lease, 'expired', 'the store no longer has it');
    // A fallback store keeps the owner until it is released, and so do members of a quorum that have not lost it.
    void this.sendRelease(lease);
  }

  /** The store replied to a renewal; the new deadline counts from before that was sent. */
  onRenewed(lease: Lease, reply: RenewReply, sentAt: MonotonicMs, term: number): void {
    this.engine.storeReporter.requestEnded(undefined);
    if (reply === 'taken') this.loseByStore(lease, 'taken', 'another caller holds it');
    else if (reply !== 'renewed') this.loseByStore(lease, 'expired', 'the store no longer has it');
    else if (this.isGood(lease)) {
      lease.renewalFailure = undefined;
      lease.confirm(sentAt, this.cautious.at(sentAt), this.deadlineOf(sentAt, term));
      if (lease.fixedLease === undefined) this.timers.clear(lease);
      else if (this.unrenewed(term) < term) this.watchdog.renewUntil(lease, deadlineOf(sentAt, term), sentAt);
      if (this.engine.hub.observed) this.engine.reporter.renewed(lease, this.remaining(lease));
    }
  }

  /**
   * Makes leases last at least `ms` from now; returns the first failure. A lease that the store no longer has is marked lost,
   * which is not a failure.
   */
  async extend(leases: readonly Lease[], ms: number): Promise<FailedExtension | undefined> {
    // Before any await: a lease whose hold ends meanwhile must not pass on.
    if (ms > this.engine.watchdogTimeout) for (const lease of leases) lease.isExtended = true;
    const sentAt = this.sendingAt();
    const wanted = deadlineOf(sentAt, ms) - sentAt;
    const due = leases.filter((lease) => {
      const sureFor = this.sureFor(lease, sentAt);
      return sureFor <= 0 || sureFor < wanted;
    });
    let failed: FailedExtension | undefined;
    await renewLeases(
      this.engine.session,
      due,
      () => ms,
      (lease, outcome) => {
        if (outcome instanceof LockStoreError) failed ??= { lease, failure: outcome };
        else this.onRenewed(lease, outcome, sentAt, ms);
      },
    );
    return failed;
  }

  onBroken(owner: OwnerId): void {
    this.delayed.forget(owner);
    for (const lease of [...this.all]) {
      if (lease.owner !== owner) continue;
      this.lose(lease, 'taken', 'it was released by force');
      // The message may be about an earlier grant of this owner, which holds the lock again.
      void this.sendRelease(lease);
    }
  }

  /** Shutdown can't wait any longer: held leases are left to expire, never released while their work runs. */
  abandonAll(): void {
    for (const lease of [...this.all]) {
      this.abandoned.set(lease, new Set(lease.holders));
      this.lose(
        lease,
        'unreachable',
        'the application shut down before its work ended; it is left to expire',
      );
    }
  }

  /** The work of a hold has ended: after the last one, the store need not keep an abandoned lease until it expires. */
  releaseAbandoned(lease: Lease, hold: LeaseHolder): void {
    const holders = this.abandoned.get(lease);
    if (holders?.delete(hold) !== true || holders.size > 0) return;
    this.abandoned.delete(lease);
    const isKept = lease.keptUntil !== undefined && this.engine.clock.monotonic() < lease.keptUntil;
    if (!isKept) void this.sendRelease(lease);
  }

  close(): void {
    this.abandoned.clear();
    this.timers.close();
  }

  /** Verifies leases with much less time left than it seems. */
  private readonly wallClockJumped = (): void => {
    const now = this.engine.clock.monotonic();
    const cautiousNow = this.cautious.read(now);
    for (const lease of [...this.all]) {
      const sureFor = lease.sureFor(now, cautiousNow);
      if (sureFor <= 0 || sureFor < lease.deadline - now - DISAGREEMENT) this.watchdog.verifyOnce(lease);
    }
  };

  /** How long the store keeps a lease without a renewal, ms. */
  private unrenewed(lease: number): number {
    return Math.min(lease, this.engine.session.longestUnrenewed ?? Infinity);
  }

  private readonly atDeadline = (lease: Lease): void => {
    if (lease.state !== 'held') return;
    if (lease.isGood(this.engine.clock.monotonic())) this.watchDeadline(lease);
    else this.loseByTime(lease);
  };

  /** The store no longer has the lease; a late copy of the request that acquired it must not bring it back. */
  private loseByStore(lease: Lease, reason: LockLostReason, story: string): void {
    if (lease.state !== 'held') return;
    this.lose(lease, reason, story);
    if (lease.inDoubt) void this.sendRelease(lease);
  }

  private loseByTime(lease: Lease): void {
    const { fixedLease, renewalFailure, isRenewed } = lease;
    if (renewalFailure !== undefined && isRenewed) {
      this.lose(lease, 'unreachable', `it could not be renewed in time (${renewalFailure.message})`);
    } else if (fixedLease !== undefined && !isRenewed) {
      this.lose(lease, 'expired', `its leaseTime of ${inMs(fixedLease)} has passed`);
    } else {
      this.lose(
        lease,
        'expired',
        'the process was stopped or its event loop blocked for longer than the lease',
      );
    }
    // The store may keep it a little longer than we relied on it.
    void this.sendRelease(lease);
  }

  /** At the end of the tick: a hold that ends before needs neither timers nor a claim. */
  private watchSoon(): void {
    if (this.isWatchingSoon) return;
    this.isWatchingSoon = true;
    void MICROTASK.then(() => {
      process.nextTick(this.watchNewcomers);
    });
  }

  private readonly watchNewcomers = (): void => {
    this.isWatchingSoon = false;
    let lease = this.all.last;
    while (lease?.isWatched === false) {
      // Read first, since a lease that ends leaves the list.
      const { previous } = lease;
      this.watch(lease);
      lease = previous;
    }
  };

  private watch(lease: Lease): void {
    lease.isWatched = true;
    // The watchdog watches the deadline of a lease that it renews.
    if (lease.fixedLease !== undefined) this.watchDeadline(lease);
    this.watchdog.watch(lease);
    this.long.watch(lease);
  }

  private endReleased(lease: Lease): void {
    this.end(lease, 'released');
    lease.runner?.onLeaseEnded(lease);
  }

  private end(lease: Lease, state: 'released' | 'lost'): void {
    lease.state = state;
    if (lease.heapIndex !== -1) this.timers.clear(lease);
    this.all.leave(lease);
    if (lease.isWatched) {
      this.watchdog.unwatch(lease);
      if (this.all.size === 0) this.long.rest();
    }
    if (this.all.size === 0) this.onDrained?.();
  }

  /**
   * P33: ended at once for us; repeated until the store has carried it out, or until the lease has ended anyway.
   *
   * @param hold the hold whose release this is; it was lost if the store no longer has the lease
   */
  private sendRelease(lease: Lease, hold?: LeaseHolder): Deferred<ReleaseOutcome> {
    const wasSure = this.isSurelyThere(lease, this.engine.clock.monotonic());
    return this.engine.backgroundRetry.run(new ReleaseRequest(lease, hold, wasSure, this.engine));
  }

  private isSurelyThere(lease: Lease, now: MonotonicMs): boolean {
    return lease.sureFor(now, this.cautious.read(now)) > 0;
  }
}

/** The outcome of a hold on a lease that has ended while the hold did. */
function outcomeOf(lease: Lease): Pending<ReleaseOutcome> {
  return lease.state === 'lost' ? EXPIRED : (lease.returned ?? RELEASED);
}
