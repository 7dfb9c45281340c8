import type { RetriedRequest } from '../../common/background-retry.js';
import { later } from '../../common/clock.js';
import type { Deferred } from '../../common/deferred.js';
import type { Timer, TimerQueue } from '../../common/timer-queue.js';
import type { ReleaseOutcome } from '../../model/lock-handle.js';
import {
  LockStoreError,
  type MonotonicMs,
  type OwnerId,
  type ReleaseReply,
  type RenewReply,
} from '../../stores/port/lock-store.js';
import type { Lease, LeaseHolder } from './lease.js';
import type { LeaseContext } from './leases.js';
import { renew } from './watchdog.js';

/**
 * Leases whose holds have ended, but whose locks stay held for `holdAtLeast`. The store keeps them even if this process
 * dies; otherwise this process releases them in time, so that the next waiter is woken at once.
 */
export class DelayedReleases {
  private readonly kept = new Map<OwnerId, KeptLease>();

  constructor(
    private readonly engine: LeaseContext,
    private readonly timers: TimerQueue,
    private readonly release: (lease: Lease) => unknown,
  ) {}

  /**
   * Lets the lease end at this time instead of now.
   *
   * @param hold the hold that has ended
   * @param wasSure whether the store surely has the lease
   */
  keep(lease: Lease, hold: LeaseHolder, end: MonotonicMs, wasSure: boolean): Deferred<ReleaseOutcome> {
    const kept = new KeptLease(lease, hold, end, wasSure, this.engine, (isThere) => {
      // Broken, or left to the store.
      if (!this.kept.has(lease.owner)) return;
      this.forget(lease.owner);
      if (isThere) void this.release(lease);
    });
    this.kept.set(lease.owner, kept);
    this.timers.set(kept, end);
    return this.engine.backgroundRetry.run(kept);
  }

  /** Leaves them to the store. */
  leave(): void {
    for (const owner of [...this.kept.keys()]) this.forget(owner);
  }

  /** The lock was released by force, or is left to the store. */
  forget(owner: OwnerId): void {
    const kept = this.kept.get(owner);
    if (kept === undefined) return;
    this.kept.delete(owner);
    this.timers.clear(kept);
  }
}

/** What the replies to a request that ends a lease show. */
abstract class EndOfLease<Reply> implements RetriedRequest<Reply, ReleaseOutcome> {
  private wasInDoubt = false;

  /**
   * @param hold the hold whose release this is
   * @param wasSure whether the store surely had the lease when the hold ended
   */
  constructor(
    protected readonly lease: Lease,
    private readonly hold: LeaseHolder | undefined,
    private readonly wasSure: boolean,
    protected readonly engine: LeaseContext,
  ) {}

  protected abstract send(inDoubt: boolean): PromiseLike<Reply>;
  protected abstract isDone(reply: Reply): boolean;
  abstract until(): MonotonicMs;

  attempt(inDoubt: boolean): PromiseLike<Reply> {
    this.wasInDoubt = inDoubt;
    return this.send(inDoubt);
  }

  resultOf(reply: Reply | undefined): ReleaseOutcome {
    if (reply === undefined) return 'unknown';
    if (this.isDone(reply)) return 'released';
    // Gone after a request in doubt, with time surely left: that request was carried out.
    if (this.wasInDoubt) return this.wasSure ? 'released' : 'expired';
    // A reply after the deadline may only show that the lease ended by itself, after the hold had ended.
    const isInTime = this.engine.clock.monotonic() < this.lease.deadline;
    if (this.hold !== undefined && isInTime) this.engine.leases.wasLost(this.hold);
    return 'expired';
  }
}

/** A delayed release, and the request that makes the store end the lease in time. */
class KeptLease extends EndOfLease<RenewReply> implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private isUnderWay = false;
  private isDue = false;

  /** @param over called with whether the store may still have the lease */
  constructor(
    lease: Lease,
    hold: LeaseHolder,
    private readonly keptUntil: MonotonicMs,
    wasSure: boolean,
    engine: LeaseContext,
    private readonly over: (isThere: boolean) => void,
  ) {
    super(lease, hold, wasSure, engine);
  }

  /** The release must not overtake the request, which would find no lease and report the hold as lost. */
  fire(): void {
    this.isDue = true;
    if (!this.isUnderWay) this.over(true);
  }

  protected async send(): Promise<RenewReply> {
    const { key, owner } = this.lease;
    this.isUnderWay = true;
    let isThere = true;
    try {
      const left = Math.max(1, Math.ceil(this.keptUntil - this.engine.clock.monotonic()));
      const [outcome] = await renew(this.engine.session, [{ key, owner, lease: left, exactly: true }]);
      if (outcome instanceof LockStoreError) throw outcome;
      isThere = outcome === 'renewed';
      return outcome ?? 'gone';
    } finally {
      this.isUnderWay = false;
      if (this.isDue || !isThere) this.over(isThere);
    }
  }

  until(): MonotonicMs {
    return this.keptUntil;
  }

  protected isDone(reply: RenewReply): boolean {
    return reply === 'renewed';
  }
}

/** The release of a lease, repeated until the store has carried it out. */
export class ReleaseRequest extends EndOfLease<ReleaseReply> {
  protected send(inDoubt: boolean): PromiseLike<ReleaseReply> {
    const { key, owner } = this.lease;
    return this.engine.session.release({
      key,
      owner,
      wasGranted: true,
      inDoubt: inDoubt || this.lease.inDoubt,
    });
  }

  until(): MonotonicMs {
    const now = this.engine.clock.monotonic();
    return later(now, Math.max(this.lease.deadline - now, this.engine.watchdogTimeout));
  }

  protected isDone(reply: ReleaseReply): boolean {
    return reply === 'released';
  }
}
