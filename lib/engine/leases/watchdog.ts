import { pauseBefore } from '../../common/background-retry.js';
import { later, type SuspendAwareClock } from '../../common/clock.js';
import { whenReplied } from '../../common/deferred.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import {
  LockStoreError,
  type LockStoreSession,
  type MonotonicMs,
  type RenewReply,
  type RenewRequest,
  type ReserveReply,
} from '../../stores/port/lock-store.js';
import { storeFailure } from '../../stores/port/store-failure.js';
import type { HandOverBudget } from '../machine/hand-over-budget.js';
import type { Lease } from './lease.js';
import type { LeaseContext, Leases } from './leases.js';

const MICROTASK = Promise.resolve();
const NO_RESERVATION: PromiseLike<ReserveReply | undefined> = Promise.resolve(undefined);

/** Renews leases without a `leaseTime`: one timer, requests in batches. */
export class Watchdog {
  /** Leases that wait for their renewal, longest wait first: all wait for the same time. */
  private readonly rounds = new Set<Lease>();
  private readonly nextRound = new CallbackTimer((now) => {
    this.renewOldest(now);
  });
  private readonly batch = new Set<Lease>();
  /** Leases whose last renewal failed, and that are renewed again together. */
  private readonly failing = new Set<Lease>();
  /** Failures since the last success. */
  private failures = 0;
  private readonly retry = new CallbackTimer(() => {
    this.retryNow();
  });

  constructor(
    private readonly engine: LeaseContext,
    private readonly leases: Leases,
    private readonly cautious: SuspendAwareClock,
    private readonly timers: TimerQueue,
  ) {}

  watch(lease: Lease): void {
    if (lease.unclaimed) this.claim(lease);
    else if (lease.isRenewed) this.renewLater(lease);
  }

  /** A pushed grant lasts only for its short claim lease; the first renewal claims it for the lease that was requested. */
  private claim(lease: Lease): void {
    this.due(lease);
  }

  /** Renews a lease with a `leaseTime` until this time, since the store does not keep it that long without a renewal. */
  renewUntil(lease: Lease, end: MonotonicMs, renewedAt: MonotonicMs): void {
    lease.wantedUntil = Math.max(lease.wantedUntil, end) as MonotonicMs;
    this.renewed(lease, renewedAt);
  }

  unwatch(lease: Lease): void {
    this.leaveRounds(lease);
    this.forgetFailure(lease);
  }

  /** Checks at once whether the store still has the lease, unless such a check is pending. */
  verifyOnce(lease: Lease): void {
    if (!lease.needsVerification) this.verify(lease);
  }

  /** Checks at once, even if a check is pending: the store may have lost the lease since. */
  verify(lease: Lease): void {
    lease.needsVerification = true;
    this.leaveRounds(lease);
    this.due(lease);
  }

  /**
   * Reserves tokens for the next holds of this process on a lease, and renews it by the same request. A failure shows at
   * the next renewal.
   */
  reserve(lease: Lease, budget: HandOverBudget, tokens: number, done: () => void): void {
    const { key, owner } = lease;
    const sentAt = this.cautious.sendingAt();
    const term = this.engine.watchdogTimeout;
    const replied = (reply: ReserveReply | undefined): void => {
      if (reply?.outcome === 'reserved' && Number.isSafeInteger(reply.token)) {
        budget.reserved(reply.token, tokens, reply.othersWait, sentAt);
        this.leases.onRenewed(lease, 'renewed', sentAt, term);
        this.renewed(lease, sentAt);
      } else {
        budget.reservationFailed();
        // A custom store may not reply, or reserve an invalid token.
        if (reply !== undefined && reply.outcome !== 'reserved')
          this.leases.onRenewed(lease, reply.outcome, sentAt, term);
      }
      done();
    };
    const request = { key, owner, lease: term, isRenewed: true, tokens };
    whenReplied(this.engine.session.reserve?.(request) ?? NO_RESERVATION, replied, () => {
      replied(undefined);
    });
  }

  /** The store is reachable again: repeats failed requests at once. */
  retryNow(): void {
    for (const lease of [...this.failing]) {
      this.forgetFailure(lease);
      this.due(lease);
    }
  }

  /** ms after which a lease is renewed. */
  private get interval(): number {
    return Math.min(this.engine.watchdogTimeout, this.engine.session.longestUnrenewed ?? Infinity) / 3;
  }

  /** The lease was renewed by a request sent at this time. */
  private renewed(lease: Lease, sentAt: MonotonicMs): void {
    this.forgetFailure(lease);
    lease.renewedAt = sentAt;
    if (!lease.isWatched || lease.state !== 'held') return;
    this.rounds.delete(lease);
    if (lease.isRenewed) this.renewLater(lease);
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
    // Leases that are nearly due are renewed along with one that is.
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
    this.leases.watchDeadline(lease);
    this.batch.add(lease);
    if (this.batch.size === 1) void MICROTASK.then(this.renewDue);
  }

  private readonly renewDue = (): void => {
    const batch = [...this.batch];
    this.batch.clear();
    const due = batch.filter((lease) => this.leases.isGood(lease));
    const sentAt = this.cautious.sendingAt();
    void renewLeases(
      this.engine.session,
      due,
      (lease) => this.termOf(lease, sentAt),
      (lease, outcome, term) => {
        if (outcome instanceof LockStoreError) this.failed(lease, outcome);
        else this.answered(lease, outcome, sentAt, term);
      },
    );
  };

  /** The lease to request, ms. */
  private termOf(lease: Lease, sentAt: MonotonicMs): number {
    const { fixedLease, startedAt } = lease;
    if (fixedLease === undefined) return this.engine.watchdogTimeout;
    // A `leaseTime` ends when it would have ended without this request. A claim sets the whole of it, which a jump of
    // the wall clock must not shorten; a later renewal subtracts such a jump, unless `extend()` came after it.
    const isClaim = lease.unclaimed && lease.renewedAt === startedAt;
    const age = isClaim ? sentAt - startedAt : this.cautious.at(sentAt) - lease.began;
    const isExtended = lease.wantedUntil > startedAt + fixedLease;
    const left = isExtended ? lease.wantedUntil - sentAt : fixedLease - age;
    return Math.max(1, Math.ceil(left));
  }

  private answered(lease: Lease, reply: RenewReply, sentAt: MonotonicMs, term: number): void {
    lease.needsVerification = false;
    this.leases.onRenewed(lease, reply, sentAt, term);
    this.renewed(lease, sentAt);
    this.failures = 0;
  }

  /** Retried until the deadline, which a failure never moves. */
  private failed(lease: Lease, error: LockStoreError): void {
    if (!this.leases.isGood(lease)) return;
    lease.renewalFailure = error;
    this.engine.storeReporter.requestEnded(error);
    this.failing.add(lease);
    if (this.retry.heapIndex === -1) {
      const pause = Math.min(pauseBefore(this.failures), this.interval / 2);
      this.failures += 1;
      this.timers.set(this.retry, later(this.engine.clock.monotonic(), pause));
    }
    // Last, since a listener may end the hold.
    const { hub, reporter } = this.engine;
    if (hub.observed) reporter.renewalFailed(lease, this.leases.remaining(lease), error);
  }

  private forgetFailure(lease: Lease): void {
    if (this.failing.delete(lease) && this.failing.size === 0) this.timers.clear(this.retry);
  }
}

/** Leases renewed by one request; a script then blocks the server for about a millisecond at most. */
const BATCH = 500;

const NO_REPLY = new LockStoreError('it did not reply to the renewal', { inDoubt: true, retryable: true });

/**
 * Renews leases in batches; resolves when all outcomes are known.
 *
 * @param termOf the lease to request, ms
 */
export async function renewLeases(
  session: LockStoreSession,
  leases: readonly Lease[],
  termOf: (lease: Lease) => number,
  onRenewal: (lease: Lease, outcome: RenewReply | LockStoreError, term: number) => void,
): Promise<void> {
  const renewBatch = async (batch: readonly Lease[]): Promise<void> => {
    const requests = batch.map((lease): RenewRequest => {
      const { key, owner, fixedLease } = lease;
      return { key, owner, lease: termOf(lease), isRenewed: fixedLease === undefined };
    });
    const outcomes = await renew(session, requests);
    batch.forEach((lease, index) => {
      const outcome = outcomes[index];
      if (outcome !== undefined) onRenewal(lease, outcome, requests[index]?.lease ?? 0);
    });
  };
  const batches: Promise<void>[] = [];
  for (let start = 0; start < leases.length; start += BATCH) {
    batches.push(renewBatch(leases.slice(start, start + BATCH)));
  }
  await Promise.all(batches);
}

/** One outcome for each request. */
export async function renew(
  session: LockStoreSession,
  requests: readonly RenewRequest[],
): Promise<readonly (RenewReply | LockStoreError)[]> {
  try {
    const replies: readonly unknown[] = await session.renew(requests);
    return requests.map((_, index) => outcomeOf(replies[index]));
  } catch (error) {
    const failure = storeFailure(error);
    return requests.map(() => failure);
  }
}

/** A custom store may leave out replies. */
function outcomeOf(reply: unknown): RenewReply | LockStoreError {
  if (reply === 'renewed' || reply === 'gone' || reply === 'taken') return reply;
  return reply instanceof Error ? storeFailure(reply) : NO_REPLY;
}
