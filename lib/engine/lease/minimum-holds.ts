import type { ReleaseOutcome } from '../../model/lock-handle.js';
import {
  LockStoreError,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
  type RenewReply,
} from '../../stores/port/lock-store.js';
import { TimerQueue, type Timer } from '../../common/timer-queue.js';
import type { Clock } from '../../common/clock.js';
import type { PendingReply } from '../../common/pending-reply.js';
import type { RetriedRequest, BackgroundRetry } from '../../common/background-retry.js';
import type { Lease } from './lease.js';
import { renew } from './renew-leases.js';

/**
 * Leases of holds that are over, but whose locks stay taken for a while (`holdAtLeast`). The store keeps them, whatever
 * becomes of this process; if it lives, it gives them back in time, so that the next waiter need not find out.
 */
export class MinimumHolds {
  private readonly kept = new Map<OwnerId, KeptLease>();
  private readonly ends: TimerQueue;

  /** @param giveBack releases the lease in the store */
  constructor(
    private readonly session: LockStoreSession,
    private readonly clock: Clock,
    private readonly backgroundRetry: BackgroundRetry,
    private readonly giveBack: (lease: Lease) => unknown,
  ) {
    this.ends = new TimerQueue(clock, false);
  }

  /**
   * Has the lease end at that time, rather than now.
   *
   * @param wasSure whether the store surely has the lease
   */
  keep(lease: Lease, end: MonotonicMs, wasSure: boolean): PendingReply<ReleaseOutcome> {
    const kept = new KeptLease(lease, end, wasSure, this.session, this.clock, (isThere) => {
      // Broken, or left to the store.
      if (!this.kept.has(lease.owner)) return;
      this.forget(lease.owner);
      if (isThere) void this.giveBack(lease);
    });
    this.kept.set(lease.owner, kept);
    this.ends.set(kept, end);
    return this.backgroundRetry.run(kept);
  }

  /** The lock was released by force. */
  broken(owner: OwnerId): void {
    if (this.kept.size > 0) this.forget(owner);
  }

  /** Leaves them to the store. */
  leave(): void {
    for (const owner of [...this.kept.keys()]) this.forget(owner);
    this.ends.close();
  }

  private forget(owner: OwnerId): void {
    const kept = this.kept.get(owner);
    if (kept === undefined) return;
    this.kept.delete(owner);
    this.ends.clear(kept);
  }
}

/** One of them, and the request that has the store keep it. */
class KeptLease implements Timer, RetriedRequest<RenewReply, ReleaseOutcome> {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private isUnderWay = false;
  private isDue = false;
  private wasInDoubt = false;

  /** @param over called with whether the store may still have it */
  constructor(
    private readonly lease: Lease,
    private readonly end: MonotonicMs,
    private readonly wasSure: boolean,
    private readonly session: LockStoreSession,
    private readonly clock: Clock,
    private readonly over: (isThere: boolean) => void,
  ) {}

  async attempt(inDoubt: boolean): Promise<RenewReply> {
    const { key, owner } = this.lease;
    this.wasInDoubt = inDoubt;
    this.isUnderWay = true;
    let isThere = true;
    try {
      const left = Math.max(1, Math.ceil(this.end - this.clock.monotonic()));
      const [outcome] = await renew(this.session, [{ key, owner, lease: left, exactly: true }]);
      if (outcome instanceof LockStoreError) throw outcome;
      isThere = outcome === 'renewed';
      return outcome ?? 'gone';
    } finally {
      this.isUnderWay = false;
      if (this.isDue || !isThere) this.over(isThere);
    }
  }

  until(): MonotonicMs {
    return this.end;
  }

  resultOf(reply: RenewReply | undefined): ReleaseOutcome {
    if (reply === undefined) return 'unknown';
    // Not held after a request in doubt, with time surely left: that request had the store end it in time.
    const wasOurs = reply === 'renewed' || (this.wasInDoubt && this.wasSure);
    return wasOurs ? 'released' : 'expired';
  }

  /** The release must not overtake the request, which would then find nothing and take the hold for lost before its end. */
  fire(): void {
    this.isDue = true;
    if (!this.isUnderWay) this.over(true);
  }
}
