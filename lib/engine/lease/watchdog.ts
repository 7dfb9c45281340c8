import {
  LockStoreError,
  type LockStoreSession,
  type MonotonicMs,
  type RenewReply,
  type ReserveReply,
} from '../../stores/port/lock-store.js';
import { TimerQueue, CallbackTimer } from '../../common/timer-queue.js';
import { later, type Clock } from '../../common/clock.js';
import type { LeaseReporter } from '../events/lease-reporter.js';
import { pauseBefore } from '../../common/background-retry.js';
import { whenReplied } from '../../common/pending-reply.js';
import type { CohortBudget } from './cohort-budget.js';
import type { Lease } from './lease.js';
import { renewLeases } from './renew-leases.js';
import type { SuspendAwareClock } from '../time/suspend-aware-clock.js';

const SOON = Promise.resolve();
const NO_REPLY = Promise.resolve(undefined);

/** Whom the watchdog tells what became of a lease. */
export interface RenewalListener {
  /** What the store answered; the lease counts from before it was asked. */
  renewed(lease: Lease, reply: RenewReply, sentAt: MonotonicMs, term: number): void;
  /** Whether the lease may be relied on now; finds out a loss that no timer has told yet. */
  isGood(lease: Lease): boolean;
  /** Has the lease lost at its deadline if nothing prolongs it. */
  watchDeadline(lease: Lease): void;
  /** ms for which the lease is surely held, for people. */
  remaining(lease: Lease): number;
}

/** A lease whose last renewal failed. */
interface Retry {
  readonly reminder: CallbackTimer;
  /** How often in a row it failed. */
  failures: number;
}

/** Renews the leases whose end the user did not fix: one timer, requests in batches (B20–B22). */
export class Watchdog {
  private readonly timers: TimerQueue;
  /** Leases that are renewed by and by, the one that waits longest first: all wait equally long. */
  private readonly rounds = new Set<Lease>();
  private readonly nextRound = new CallbackTimer((now) => {
    this.renewOldest(now);
  });
  private readonly batch = new Set<Lease>();
  private readonly retries = new Map<Lease, Retry>();

  constructor(
    private readonly session: LockStoreSession,
    private readonly clock: Clock,
    private readonly reporter: LeaseReporter,
    private readonly cautious: SuspendAwareClock,
    private readonly listener: RenewalListener,
    private readonly watchdogTimeout: number,
  ) {
    this.timers = new TimerQueue(clock, false);
  }

  watch(lease: Lease): void {
    if (lease.unclaimed) this.due(lease);
    else if (lease.isRenewed) this.renewLater(lease);
  }

  /** Renews a lease until that time, though the user fixed its end: the store keeps it for less without a renewal. */
  renewUntil(lease: Lease, end: MonotonicMs, renewedAt: MonotonicMs): void {
    lease.wantedUntil = Math.max(lease.wantedUntil, end) as MonotonicMs;
    this.renewed(lease, renewedAt);
  }

  unwatch(lease: Lease): void {
    this.leaveRounds(lease);
    this.forgetFailure(lease);
  }

  /** It is not sure whether the store still has the lease: it is asked at once, also for one that the user fixed (F30). */
  question(lease: Lease): void {
    if (!lease.needsVerification) this.verify(lease);
  }

  /** Asks at once whether the store still has the lease, also if it is being asked: it may have forgotten it since. */
  verify(lease: Lease): void {
    lease.needsVerification = true;
    this.leaveRounds(lease);
    this.due(lease);
  }

  /**
   * Asks for tokens for the holds of this process that follow on a lease, and renews the lease by it; for a single token,
   * which each hold asks for, only if that was not done a moment ago. What fails here shows at the next renewal (P20).
   *
   * @param done called when it is decided
   */
  reserve(lease: Lease, budget: CohortBudget, tokens: number, done: () => void): void {
    const { key, owner } = lease;
    const sentAt = this.cautious.sendingAt();
    const term = tokens === 1 && this.isFresh(lease, sentAt) ? 0 : this.watchdogTimeout;
    const replied = (reply: ReserveReply | undefined): void => {
      if (reply?.outcome === 'reserved' && Number.isSafeInteger(reply.token)) {
        budget.renewed(reply.token, tokens, reply.othersWait, sentAt);
        if (term > 0) {
          this.listener.renewed(lease, 'renewed', sentAt, term);
          this.renewed(lease, sentAt);
        }
      } else {
        budget.failed();
        // A store of the user's may reply nothing, or reserve what is no token.
        if (reply !== undefined && reply.outcome !== 'reserved')
          this.listener.renewed(lease, reply.outcome, sentAt, term);
      }
      done();
    };
    const request = { key, owner, lease: term, isRenewed: true, tokens };
    whenReplied<ReserveReply | undefined>(this.session.reserve?.(request) ?? NO_REPLY, replied, () => {
      budget.failed();
      done();
    });
  }

  /** Whether nearly all of the lease's time is left, and the store is known to have it. */
  private isFresh(lease: Lease, now: MonotonicMs): boolean {
    const { renewedAt, unclaimed, startedAt, renewalFailure, needsVerification } = lease;
    if ((unclaimed && renewedAt === startedAt) || renewalFailure !== undefined || needsVerification)
      return false;
    return now - renewedAt < this.interval / 10;
  }

  /** The lease was renewed by a request that was sent at that time. */
  private renewed(lease: Lease, sentAt: MonotonicMs): void {
    this.forgetFailure(lease);
    lease.renewedAt = sentAt;
    if (!lease.isWatched || lease.state !== 'held') return;
    this.rounds.delete(lease);
    if (lease.isRenewed) this.renewLater(lease);
  }

  /** The store can be reached again: what failed is tried at once. */
  retryNow(): void {
    for (const [lease, { reminder }] of this.retries) {
      // It is being tried.
      if (reminder.heapIndex === -1) continue;
      this.timers.clear(reminder);
      this.due(lease);
    }
  }

  close(): void {
    this.timers.close();
  }

  /** ms after which a lease is renewed. */
  private get interval(): number {
    return Math.min(this.watchdogTimeout, this.session.longestUnrenewed ?? Infinity) / 3;
  }

  private leaveRounds(lease: Lease): void {
    if (this.rounds.delete(lease) && this.rounds.size === 0) this.timers.clear(this.nextRound);
  }

  private renewLater(lease: Lease): void {
    this.rounds.add(lease);
    if (this.rounds.size === 1) this.timers.set(this.nextRound, later(lease.renewedAt, this.interval));
  }

  private renewOldest(now: MonotonicMs): void {
    this.cautious.read();
    // Leases that are nearly due go along with one that is.
    const dueFrom = now - this.interval + this.interval / 10;
    for (const lease of this.rounds) {
      if (lease.renewedAt > dueFrom) {
        this.timers.set(this.nextRound, later(lease.renewedAt, this.interval));
        return;
      }
      this.rounds.delete(lease);
      this.due(lease);
    }
  }

  private due(lease: Lease): void {
    this.listener.watchDeadline(lease);
    this.batch.add(lease);
    if (this.batch.size === 1) void SOON.then(this.renewDue);
  }

  private readonly renewDue = (): void => {
    const batch = [...this.batch];
    this.batch.clear();
    const due = batch.filter((lease) => this.listener.isGood(lease));
    const sentAt = this.cautious.sendingAt();
    void renewLeases(
      this.session,
      due,
      (lease) => this.termOf(lease, sentAt),
      (lease, outcome, term) => {
        if (outcome instanceof LockStoreError) this.failed(lease, outcome);
        else this.answered(lease, outcome, sentAt, term);
      },
    );
  };

  private termOf(lease: Lease, sentAt: MonotonicMs): number {
    const { fixedLease, startedAt } = lease;
    if (fixedLease === undefined) return this.watchdogTimeout;
    // A lease of the user's ends when it would have ended without the claim, or the question. The claim has to set what
    // the user asked for, which a jump of the wall clock must not take away.
    const isClaim = lease.unclaimed && lease.renewedAt === startedAt;
    const age = isClaim ? sentAt - startedAt : this.cautious.at(sentAt) - lease.began;
    // Less what the wall clock jumped, but for what was asked for after that.
    const isExtended = lease.wantedUntil > startedAt + fixedLease;
    const left = isExtended ? lease.wantedUntil - sentAt : fixedLease - age;
    return Math.max(1, Math.ceil(left));
  }

  private answered(lease: Lease, reply: RenewReply, sentAt: MonotonicMs, term: number): void {
    lease.needsVerification = false;
    this.reporter.store.heard(undefined);
    this.listener.renewed(lease, reply, sentAt, term);
    this.renewed(lease, sentAt);
  }

  /** One blip loses nothing: tried again until the deadline, which a failure never moves (B22, P34). */
  private failed(lease: Lease, error: LockStoreError): void {
    if (!this.listener.isGood(lease)) return;
    lease.renewalFailure = error;
    this.reporter.store.heard(error);
    const retry = this.retries.get(lease) ?? { reminder: this.reminderOf(lease), failures: 0 };
    this.retries.set(lease, retry);
    const pause = Math.min(pauseBefore(retry.failures), this.interval / 2);
    retry.failures += 1;
    this.timers.set(retry.reminder, later(this.clock.monotonic(), pause));
    if (!this.reporter.hub.observed) return;
    // At last: whoever hears of it may end the hold.
    this.reporter.renewalFailed(lease, this.listener.remaining(lease), error);
  }

  private reminderOf(lease: Lease): CallbackTimer {
    return new CallbackTimer(() => {
      this.due(lease);
    });
  }

  private forgetFailure(lease: Lease): void {
    if (this.retries.size === 0) return;
    const retry = this.retries.get(lease);
    if (retry === undefined) return;
    this.retries.delete(lease);
    this.timers.clear(retry.reminder);
  }
}
