import { LockLostError, type LockLostReason } from '../../model/lock.errors.js';
import type { ReleaseOutcome } from '../../model/lock-handle.js';
import type {
  LockStoreError,
  LockStoreSession,
  MonotonicMs,
  OwnerId,
  RenewReply,
} from '../../stores/port/lock-store.js';
import { TimerQueue } from '../../common/timer-queue.js';
import { SuspendAwareClock } from '../time/suspend-aware-clock.js';
import { deadlineOf, type Clock } from '../../common/clock.js';
import type { EngineLog } from '../events/engine-log.js';
import type { EventHub } from '../events/event-hub.js';
import { factsOf } from '../events/event-subject.js';
import type { BackgroundRetry } from '../../common/background-retry.js';
import type { Pending, PendingReply } from '../../common/pending-reply.js';
import { MinimumHolds } from './minimum-holds.js';
import { EXPIRED, Lease, RELEASED } from './lease.js';
import type { LeaseGrant, LeaseName, LeaseUser, LeaseWish } from './lease.js';
import { endOf } from './lease-end.js';
import { RecentLosses } from './recent-losses.js';
import { ReleaseRequest } from './release-request.js';
import { NewLeases } from './new-leases.js';
import { TokenReservations } from './token-reservations.js';
import type { CohortBudget } from './cohort-budget.js';
import { extendLeases, type FailedExtension } from './lease-extension.js';
import { Watchdog, type RenewalListener } from './watchdog.js';

/** When the clocks disagree by more than this, ms, the store is asked what is left of a lease. */
const DISAGREEMENT = 500;

/** All leases of this process that are neither released nor lost, and the ways in which one ends. */
export class Leases implements RenewalListener {
  readonly watchdog: Watchdog;
  /** Those that stay taken though their hold is over. */
  readonly kept: MinimumHolds;
  readonly losses = new RecentLosses();
  private readonly cautious: SuspendAwareClock;
  private readonly held = new Set<Lease>();
  private readonly newcomers: NewLeases;
  private readonly reservations: TokenReservations;
  private readonly deadlines: TimerQueue;
  /** Told what came of renewals: a failure, or none. */
  onHeard: ((failure: LockStoreError | undefined) => void) | undefined;
  private emptied: (() => void) | undefined;

  constructor(
    private readonly session: LockStoreSession,
    private readonly clock: Clock,
    private readonly hub: EventHub,
    private readonly log: EngineLog,
    private readonly backgroundRetry: BackgroundRetry,
    private readonly watchdogTimeout: number,
  ) {
    this.deadlines = new TimerQueue(clock, false);
    this.newcomers = new NewLeases(clock, this.deadlines, this.watch);
    this.cautious = new SuspendAwareClock(clock, this.wallClockJumped);
    this.kept = new MinimumHolds(session, clock, backgroundRetry, (lease) => this.giveBack(lease));
    this.watchdog = new Watchdog(session, clock, hub, this.cautious, this, watchdogTimeout);
    this.reservations = new TokenReservations(session, this.cautious, this.watchdog, this, watchdogTimeout);
  }

  get all(): ReadonlySet<Lease> {
    this.newcomers.watchNow();
    return this.held;
  }

  /** The work under it starts first; what watches over the lease is set up a moment later. */
  open(name: LeaseName, wish: LeaseWish, grant: LeaseGrant): Lease {
    const lease = new Lease(name, wish, grant, this.cautious.at(grant.startedAt), this.atDeadline);
    this.newcomers.add(lease);
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
    if (lease.isGood(now)) this.watchdog.question(lease);
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
    this.newcomers.watchNow();
    for (const lease of this.held) if (concerns?.(lease.key) ?? true) this.watchdog.verify(lease);
  }

  /** The time, for a request that is sent next; see {@link SuspendAwareClock.sendingAt}. */
  sendingAt(): MonotonicMs {
    return this.cautious.sendingAt();
  }

  /** Whether a lease that began no earlier than `startedAt` may be over, so that no hold shall start on it. */
  mayBeOver(startedAt: MonotonicMs, lease: number): boolean {
    return deadlineOf(this.cautious.at(startedAt), lease) <= this.cautious.read();
  }

  /** Ends the hold of a good lease: the lock passes to the next caller of this process (P20), or goes back to the store. */
  release(lease: Lease, user: LeaseUser, now: MonotonicMs): Pending<ReleaseOutcome> {
    const heldFrom = lease.leave(user);
    if (this.hub.observed) {
      const { token } = user;
      const heldFor = Math.round(now - heldFrom);
      this.hub.emit({ type: 'released', ...factsOf(user, this.clock), token, heldFor });
      // A listener that takes its time may outlast the lease.
      if (lease.state !== 'held') return EXPIRED;
    }
    // Other readers of this process are on it.
    if (lease.users > 0) return RELEASED;
    const end = lease.keptUntil;
    if (end !== undefined && now < end) return this.letGo(lease, this.kept.keep(lease, end));
    if (lease.heir?.handOn(lease, now) === true) return RELEASED;
    return this.giveUp(lease);
  }

  /** Lets go of a lease that no hold lives on any more. */
  giveUp(lease: Lease): Pending<ReleaseOutcome> {
    return this.letGo(lease, this.giveBack(lease));
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
    const users = lease.holders;
    const now = this.clock.monotonic();
    lease.loseTo(error);
    const losses = users.map((user) => ({
      ...factsOf(user, this.clock),
      token: user.token,
      reason,
      heldFor: Math.round(now - lease.heldSince(user)),
    }));
    this.losses.add(losses, now);
    if (this.hub.observed) for (const lost of losses) this.hub.emit({ type: 'lost', ...lost });
    this.log.warn(`${error.message} Its work goes on; check isHeld, assertHeld() or signal there.`);
    lease.heir?.leaseEnded(lease);
  }

  /** The store has granted the lock anew, which it would not have done if it still had that lease. */
  superseded(lease: Lease | undefined): void {
    if (lease?.state !== 'held') return;
    this.loseByStore(lease, 'expired', 'the store no longer has it');
    // What takes locks in this process keeps the owner until it is told that nobody asks for it any more.
    if (lease.degraded) void this.giveBack(lease);
  }

  /** A renewal failed. */
  renewalFailed(failure: LockStoreError): void {
    this.onHeard?.(failure);
  }

  /** What the store answered to a renewal; its deadline counts from before it was sent (B22). */
  renewed(lease: Lease, reply: RenewReply, sentAt: MonotonicMs, term: number): void {
    this.onHeard?.(undefined);
    if (reply === 'gone') this.loseByStore(lease, 'expired', 'the store no longer has it');
    else if (reply === 'taken') this.loseByStore(lease, 'taken', 'someone else holds it');
    else if (reply === 'renewed' && this.isGood(lease)) {
      lease.renewalFailure = undefined;
      lease.confirm(sentAt, this.cautious.at(sentAt), deadlineOf(sentAt, term));
      if (lease.fixedLease === undefined) this.deadlines.clear(lease);
      if (!this.hub.observed || lease.isParked) return;
      const { token } = lease;
      this.hub.emit({
        type: 'renewed',
        ...factsOf(lease, this.clock),
        token,
        remaining: this.remaining(lease),
      });
    }
  }

  /** Brings tokens for the holds of this process that follow on a lease; `done` is called when that is decided. */
  reserve(lease: Lease, budget: CohortBudget, tokens: number, done: () => void): void {
    this.reservations.reserve(lease, budget, tokens, done);
  }

  /** Makes leases last at least `ms` from now; answers the first failure. What the store has no more is lost, which is none. */
  extend(leases: readonly Lease[], ms: number): Promise<FailedExtension | undefined> {
    // Before anything is awaited: a hold that ends meanwhile must not pass a lease on that is about to be extended.
    if (ms > this.watchdogTimeout) for (const lease of leases) lease.isExtended = true;
    return extendLeases(this.session, this, leases, ms);
  }

  broken(owner: OwnerId): void {
    this.kept.broken(owner);
    this.newcomers.watchNow();
    for (const lease of this.held) {
      if (lease.owner !== owner) continue;
      this.lose(lease, 'taken', 'it was released by force');
      // The message may be about an earlier grant of this owner, which has the lock again.
      void this.giveBack(lease);
    }
  }

  /** Resolves when no lease is held any more. */
  drained(): Promise<void> {
    if (this.all.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.emptied = resolve;
    });
  }

  /** Shutdown can't wait any longer: what is still held is left to expire, never released under its work (B60). */
  abandonAll(): void {
    this.newcomers.watchNow();
    for (const lease of [...this.held]) {
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
    this.newcomers.watchNow();
    const now = this.clock.monotonic();
    const cautiousNow = this.cautious.read(now);
    for (const lease of this.held) {
      const sureFor = lease.sureFor(now, cautiousNow);
      if (sureFor <= 0 || sureFor < lease.deadline - now - DISAGREEMENT) this.watchdog.question(lease);
    }
  };

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

  /** Of a lease that is no newcomer any more. */
  private readonly watch = (lease: Lease): void => {
    this.held.add(lease);
    // The watchdog sees to the deadline of a lease from the moment at which it renews it.
    if (lease.fixedLease !== undefined) this.watchDeadline(lease);
    this.watchdog.watch(lease);
  };

  private end(lease: Lease, state: 'released' | 'lost'): void {
    lease.state = state;
    if (!this.held.delete(lease)) this.newcomers.remove(lease);
    if (lease.heapIndex !== -1) this.deadlines.clear(lease);
    this.watchdog.unwatch(lease);
    if (this.held.size === 0) this.emptied?.();
  }

  /** P33: over at once for us; the store is told until it knows, or until its lease is over anyway. */
  private giveBack(lease: Lease): PendingReply<ReleaseOutcome> {
    const now = this.clock.monotonic();
    const wasSure = lease.sureFor(now, this.cautious.read(now)) > 0;
    return this.backgroundRetry.run(
      new ReleaseRequest(lease, wasSure, this.session, this.clock, this.watchdogTimeout),
    );
  }
}
