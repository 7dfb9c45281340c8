import { LockLostError, type LockLostReason } from '../../model/lock.errors.js';
import type { ReleaseOutcome } from '../../model/lock-handle.js';
import type { LockStoreSession, MonotonicMs, OwnerId, RenewReply } from '../../stores/port/lock-store.js';
import { TimerQueue } from '../../common/timer-queue.js';
import { SuspendAwareClock } from '../time/suspend-aware-clock.js';
import { deadlineOf, type Clock } from '../../common/clock.js';
import type { LeaseReporter } from '../events/lease-reporter.js';
import type { BackgroundRetry } from '../../common/background-retry.js';
import type { Pending, PendingReply } from '../../common/pending-reply.js';
import { MinimumHolds } from './minimum-holds.js';
import { EXPIRED, Lease, RELEASED } from './lease.js';
import type { LeaseGrant, LeaseName, LeaseUser, LeaseWish } from './lease.js';
import { endOf } from './lease-end.js';
import { HeldLeases } from './held-leases.js';
import { LongHolds } from './long-holds.js';
import { ReleaseRequest } from './release-request.js';
import { extendLeases, type FailedExtension } from './lease-extension.js';
import { Watchdog, type RenewalListener } from './watchdog.js';

/** When the clocks disagree by more than this, ms, the store is asked what is left of a lease. */
const DISAGREEMENT = 500;

/** All leases of this process that are neither released nor lost, and the ways in which one ends. */
export class Leases implements RenewalListener {
  readonly watchdog: Watchdog;
  readonly held: HeldLeases;
  /** Those that stay taken though their hold is over. */
  readonly kept: MinimumHolds;
  /** Those that are older than `warnHeldAfter`. */
  readonly long: LongHolds;
  private readonly cautious: SuspendAwareClock;
  private readonly deadlines: TimerQueue;

  constructor(
    private readonly session: LockStoreSession,
    private readonly clock: Clock,
    private readonly reporter: LeaseReporter,
    private readonly backgroundRetry: BackgroundRetry,
    private readonly watchdogTimeout: number,
    warnHeldAfter = Infinity,
  ) {
    this.deadlines = new TimerQueue(clock, false);
    this.long = new LongHolds(
      warnHeldAfter,
      clock,
      this.deadlines,
      () => this.held.all,
      (hold, heldFor) => {
        reporter.heldForLong(hold, heldFor);
      },
    );
    this.held = new HeldLeases(clock, this.deadlines, this.watch);
    this.cautious = new SuspendAwareClock(clock, this.wallClockJumped);
    this.kept = new MinimumHolds(session, clock, backgroundRetry, (lease) => this.giveBack(lease));
    this.watchdog = new Watchdog(session, clock, reporter, this.cautious, this, watchdogTimeout);
  }

  get all(): ReadonlySet<Lease> {
    return this.held.all;
  }

  /** The work under it starts first; what watches over the lease is set up a moment later. */
  open(name: LeaseName, wish: LeaseWish, grant: LeaseGrant): Lease {
    const lease = new Lease(name, wish, grant, this.cautious.at(grant.startedAt), this.atDeadline);
    this.held.add(lease);
    this.reporter.store.granted();
    return lease;
  }

  /** Has the lease lost at its deadline if nothing prolongs it. */
  watchDeadline(lease: Lease): void {
    this.deadlines.set(lease, lease.deadline);
  }

  /** Whether the lease may be relied on now; finds out a loss that no timer has told yet (B17). */
  isGood(lease: Lease, now = this.clock.monotonic()): boolean {
    if (lease.isGood(now)) return true;
    if (lease.state === 'held') this.loseByTime(lease);
    return false;
  }

  /**
   * ms for which the lease is surely held. None for one that is good but may be over, since the wall clock jumped ahead
   * after the store had confirmed it; the store is then asked (F30).
   */
  sureFor(lease: Lease, now = this.clock.monotonic()): number {
    const sureFor = lease.sureFor(now, this.cautious.read(now));
    if (sureFor > 0) return sureFor;
    if (lease.isGood(now)) {
      this.held.watchNow();
      this.watchdog.question(lease);
    }
    return 0;
  }

  isSure(lease: Lease, now?: MonotonicMs): boolean {
    return this.sureFor(lease, now) > 0;
  }

  /** For people, in whole ms. */
  remaining(lease: Lease): number {
    return Math.floor(this.sureFor(lease));
  }

  /** The store may have forgotten what it had of these keys: it is asked for all of their leases now. */
  verify(concerns?: (key: string) => boolean): void {
    for (const lease of this.all) if (concerns?.(lease.key) ?? true) this.watchdog.verify(lease);
  }

  /** The time, for a request that is sent next; see {@link SuspendAwareClock.sendingAt}. */
  sendingAt(): MonotonicMs {
    return this.cautious.sendingAt();
  }

  /** Whether a lease that began no earlier than `startedAt` may be over, so that no hold shall start on it. */
  mayBeOver(startedAt: MonotonicMs, lease: number): boolean {
    return deadlineOf(this.cautious.at(startedAt), this.unrenewed(lease)) <= this.cautious.read();
  }

  /** Until when a lease may be relied on that began no earlier than `startedAt`, if it is not renewed. */
  deadlineOf(startedAt: MonotonicMs, lease: number): MonotonicMs {
    return deadlineOf(startedAt, this.unrenewed(lease));
  }

  /**
   * Ends the hold of a good lease: the lock passes to the next caller of this process (P20), or goes back to the store.
   *
   * @param mayLinger whether that may be a moment later (P25)
   */
  release(lease: Lease, user: LeaseUser, now: MonotonicMs, mayLinger: boolean): Pending<ReleaseOutcome> {
    lease.leave(user);
    if (this.reporter.hub.observed) {
      this.reporter.released(user, now - user.heldFrom);
      // A listener that takes its time may outlast the lease.
      if (lease.state !== 'held') return EXPIRED;
    }
    // Other readers of this process are on it.
    if (lease.users > 0) return RELEASED;
    const end = lease.keptUntil;
    if (end !== undefined && now < end) {
      return this.letGo(lease, this.kept.keep(lease, end, this.isSurelyThere(lease, now)));
    }
    if (lease.heir?.handOn(lease, now) === true) return RELEASED;
    // Who looked for the next caller may have found out that its time is over: it has ended then, and does so once.
    if (lease.state !== 'held') return EXPIRED;
    return (mayLinger ? lease.heir?.linger(lease, now) : undefined) ?? this.giveUp(lease);
  }

  /** Lets go of a lease that no hold lives on any more. */
  giveUp(lease: Lease): Pending<ReleaseOutcome> {
    lease.returned = this.giveBack(lease);
    return this.letGo(lease, lease.returned);
  }

  private letGo(lease: Lease, outcome: Pending<ReleaseOutcome>): Pending<ReleaseOutcome> {
    this.end(lease, 'released');
    lease.heir?.leaseEnded(lease);
    return outcome;
  }

  /** The store said so, or the deadline has passed (B23). */
  lose(lease: Lease, reason: LockLostReason, story: string): void {
    if (lease.state !== 'held') return;
    this.end(lease, 'lost');
    if (lease.users === 0) {
      // There is no hold that is lost with it.
      lease.heir?.leaseEnded(lease);
      return;
    }
    const error = new LockLostError(`The lock "${lease.key}" was lost: ${story}.`, {
      keys: [lease.key],
      reason,
      ...(lease.renewalFailure !== undefined && { cause: lease.renewalFailure }),
    });
    const now = this.clock.monotonic();
    const holds = new Map(lease.holders.map((user) => [user, now - user.heldFrom]));
    lease.loseTo(error);
    this.reporter.lost(holds, error, now);
    lease.heir?.leaseEnded(lease);
  }

  /** The store has granted the lock anew, which it would not have done if it still had that lease. */
  superseded(lease: Lease | undefined): void {
    if (lease?.state !== 'held') return;
    this.loseByStore(lease, 'expired', 'the store no longer has it');
    // What takes locks in this process keeps the owner until it is told that nobody asks for it any more.
    if (lease.degraded) void this.giveBack(lease);
  }

  /** What the store answered to a renewal; its deadline counts from before it was sent (B22). */
  renewed(lease: Lease, reply: RenewReply, sentAt: MonotonicMs, term: number): void {
    this.reporter.store.heard(undefined);
    if (reply === 'taken') this.loseByStore(lease, 'taken', 'someone else holds it');
    else if (reply !== 'renewed') this.loseByStore(lease, 'expired', 'the store no longer has it');
    else if (this.isGood(lease)) {
      lease.renewalFailure = undefined;
      lease.confirm(sentAt, this.cautious.at(sentAt), this.deadlineOf(sentAt, term));
      if (lease.fixedLease === undefined) this.deadlines.clear(lease);
      else if (this.unrenewed(term) < term) this.watchdog.renewUntil(lease, deadlineOf(sentAt, term), sentAt);
      if (this.reporter.hub.observed) this.reporter.renewed(lease, this.remaining(lease));
    }
  }

  /** Makes leases last at least `ms` from now; answers the first failure. What the store has no more is lost, which is none. */
  extend(leases: readonly Lease[], ms: number): Promise<FailedExtension | undefined> {
    // Before anything is awaited: a hold that ends meanwhile must not pass a lease on that is about to be extended.
    if (ms > this.watchdogTimeout) for (const lease of leases) lease.extended();
    return extendLeases(this.session, this, leases, ms);
  }

  broken(owner: OwnerId): void {
    this.kept.broken(owner);
    for (const lease of this.all) {
      if (lease.owner !== owner) continue;
      this.lose(lease, 'taken', 'it was released by force');
      // The message may be about an earlier grant of this owner, which has the lock again.
      void this.giveBack(lease);
    }
  }

  /** Shutdown can't wait any longer: what is still held is left to expire, never released under its work (B60). */
  abandonAll(): void {
    for (const lease of [...this.all]) {
      this.lose(
        lease,
        'unreachable',
        'the application shut down before its work ended; it is left to expire',
      );
    }
  }

  /** Nothing is held any more. */
  close(): void {
    this.deadlines.close();
    this.watchdog.close();
  }

  /** Asks for leases of which much less may be left than it seems. */
  private readonly wallClockJumped = (): void => {
    const now = this.clock.monotonic();
    const cautiousNow = this.cautious.read(now);
    for (const lease of this.all) {
      const sureFor = lease.sureFor(now, cautiousNow);
      if (sureFor <= 0 || sureFor < lease.deadline - now - DISAGREEMENT) this.watchdog.question(lease);
    }
  };

  private unrenewed(lease: number): number {
    return Math.min(lease, this.session.longestUnrenewed ?? Infinity);
  }

  private readonly atDeadline = (lease: Lease): void => {
    if (lease.state !== 'held') return;
    if (lease.isGood(this.clock.monotonic())) this.watchDeadline(lease);
    else this.loseByTime(lease);
  };

  /** The store has given it away; a late copy of the request that brought it must not bring it back (P32). */
  private loseByStore(lease: Lease, reason: LockLostReason, story: string): void {
    if (lease.state !== 'held') return;
    this.lose(lease, reason, story);
    if (lease.inDoubt) void this.giveBack(lease);
  }

  private loseByTime(lease: Lease): void {
    const { reason, story } = endOf(lease);
    this.lose(lease, reason, story);
    // The store may keep it a little longer than we relied on it (P34).
    void this.giveBack(lease);
  }

  private readonly watch = (lease: Lease): void => {
    // The watchdog sees to the deadline of a lease from the moment at which it renews it.
    if (lease.fixedLease !== undefined) this.watchDeadline(lease);
    this.watchdog.watch(lease);
    this.long.watch(lease);
  };

  private end(lease: Lease, state: 'released' | 'lost'): void {
    lease.state = state;
    if (lease.heapIndex !== -1) this.deadlines.clear(lease);
    if (lease.isWatched) this.watchdog.unwatch(lease);
    this.held.remove(lease);
    if (lease.isWatched && this.held.isNoneWatched) this.long.rest();
  }

  /** P33: over at once for us; the store is told until it knows, or until its lease is over anyway. */
  private giveBack(lease: Lease): PendingReply<ReleaseOutcome> {
    const wasSure = this.isSurelyThere(lease, this.clock.monotonic());
    return this.backgroundRetry.run(
      new ReleaseRequest(lease, wasSure, this.session, this.clock, this.watchdogTimeout),
    );
  }

  private isSurelyThere(lease: Lease, now: MonotonicMs): boolean {
    return lease.sureFor(now, this.cautious.read(now)) > 0;
  }
}
