import type { ReleaseOutcome } from '../../model/lock-handle.js';
import type { LockStoreSession, MonotonicMs, ReleaseReply } from '../../stores/port/lock-store.js';
import { later, type Clock } from '../../common/clock.js';
import type { RetriedRequest } from '../../common/background-retry.js';
import type { Lease } from './lease.js';

/** The way of a lease back to the store. */
export class ReleaseRequest implements RetriedRequest<ReleaseReply, ReleaseOutcome> {
  private wasInDoubt = false;

  constructor(
    private readonly lease: Lease,
    private readonly wasSure: boolean,
    private readonly session: LockStoreSession,
    private readonly clock: Clock,
    private readonly watchdogTimeout: number,
  ) {}

  attempt(inDoubt: boolean): PromiseLike<ReleaseReply> {
    const { key, owner } = this.lease;
    this.wasInDoubt = inDoubt;
    return this.session.release({ key, owner, inDoubt: inDoubt || this.lease.inDoubt });
  }

  until(): MonotonicMs {
    const now = this.clock.monotonic();
    return later(now, Math.max(this.lease.deadline - now, this.watchdogTimeout));
  }

  resultOf(reply: ReleaseReply | undefined): ReleaseOutcome {
    if (reply === undefined) return 'unknown';
    // Not held after a release in doubt, with time surely left: that release was carried out.
    const wasOurs = reply === 'released' || (this.wasInDoubt && this.wasSure);
    return wasOurs ? 'released' : 'expired';
  }
}
