import type { RetriedRequest } from '../common/background-retry.js';
import { later } from '../common/clock.js';
import type { Deferred } from '../common/deferred.js';
import { type Timer, TimerQueue } from '../common/timer-queue.js';
import type { ReleaseOutcome } from '../model/lock-handle.js';
import {
  LockStoreError,
  type MonotonicMs,
  type OwnerId,
  type ReleaseReply,
  type RenewReply,
} from '../stores/port/lock-store.js';
import type { Lease } from './lease.js';
import type { LockEngine } from './lock-engine.js';
import { renew } from './watchdog.js';

/**
 * Leases whose holds have ended, but whose locks stay held for `holdAtLeast`. The store keeps them even if this process
 * dies; otherwise this process releases them in time, so that the next waiter is woken at once.
 */
export class DelayedReleases {
  private readonly kept = new Map<OwnerId, KeptLease>();
  private readonly ends: TimerQueue;

  constructor(
    private readonly engine: LockEngine,
    private readonly release: (lease: Lease) => unknown,
  ) {
    this.ends = new TimerQueue(engine.clock, false);
  }

  /**
   * Lets the lease end at this time instead of now.
   *
   * @param wasSure whether the store surely has the lease
   */
  keep(lease: Lease, end: MonotonicMs, wasSure: boolean): Deferred<ReleaseOutcome> {
    const kept = new KeptLease(lease, end, wasSure, this.engine, (isThere) => {
      // Broken, or left to the store.
      if (!this.kept.has(lease.owner)) return;
      this.forget(lease.owner);
      if (isThere) void this.release(lease);
    });
    this.kept.set(lease.owner, kept);
    this.ends.set(kept, end);
    return this.engine.backgroundRetry.run(kept);
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

/** A delayed release, and the request that makes the store end the lease in time. */
class KeptLease implements Timer, RetriedRequest<RenewReply, ReleaseOutcome> {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private isUnderWay = false;
  private isDue = false;
  private wasInDoubt = false;

  /** @param over called with whether the store may still have the lease */
  constructor(
    private readonly lease: Lease,
    private readonly end: MonotonicMs,
    private readonly wasSure: boolean,
    private readonly engine: LockEngine,
    private readonly over: (isThere: boolean) => void,
  ) {}

  async attempt(inDoubt: boolean): Promise<RenewReply> {
    const { key, owner } = this.lease;
    this.wasInDoubt = inDoubt;
    this.isUnderWay = true;
    let isThere = true;
    try {
      const left = Math.max(1, Math.ceil(this.end - this.engine.clock.monotonic()));
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
    return this.end;
  }

  resultOf(reply: RenewReply | undefined): ReleaseOutcome {
    if (reply === undefined) return 'unknown';
    // Gone after a request in doubt, with time surely left: the store ended it as requested.
    const wasOurs = reply === 'renewed' || (this.wasInDoubt && this.wasSure);
    return wasOurs ? 'released' : 'expired';
  }

  /** The release must not overtake the request, which would find no lease and report the hold as lost. */
  fire(): void {
    this.isDue = true;
    if (!this.isUnderWay) this.over(true);
  }
}

/** The release of a lease, repeated until the store has carried it out. */
export class ReleaseRequest implements RetriedRequest<ReleaseReply, ReleaseOutcome> {
  private wasInDoubt = false;

  constructor(
    private readonly lease: Lease,
    private readonly wasSure: boolean,
    private readonly engine: LockEngine,
  ) {}

  attempt(inDoubt: boolean): PromiseLike<ReleaseReply> {
    const { key, owner } = this.lease;
    this.wasInDoubt = inDoubt;
    return this.engine.session.release({ key, owner, inDoubt: inDoubt || this.lease.inDoubt });
  }

  until(): MonotonicMs {
    const now = this.engine.clock.monotonic();
    return later(now, Math.max(this.lease.deadline - now, this.engine.watchdogTimeout));
  }

  resultOf(reply: ReleaseReply | undefined): ReleaseOutcome {
    if (reply === undefined) return 'unknown';
    // Gone after a release in doubt, with time surely left: that release was carried out.
    const wasOurs = reply === 'released' || (this.wasInDoubt && this.wasSure);
    return wasOurs ? 'released' : 'expired';
  }
}
