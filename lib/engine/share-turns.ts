import type { MonotonicMs } from '../stores/lock-store.js';
import type { Acquisition } from './acquisition.js';
import type { Lease, LeaseHeir } from './lease.js';
import { tokensFor, type LocalTurns } from './local-turns.js';
import type { LockEngine } from './lock-engine.js';

/** Who waits for shares in this process. */
interface Waiters {
  /** The first of them. */
  readonly first: Acquisition | undefined;
  readonly size: number;
  skipOverdue(now: MonotonicMs): void;
  /** The caller has got what it waited for without the store. */
  served(caller: Acquisition): void;
  /** A share that was kept for them is over. */
  shareEnded(): void;
}

/** The shares of a semaphore that this process holds, which pass from one of its callers to the next without the store (P20). */
export class ShareTurns implements LeaseHeir {
  private readonly held = new Map<Lease, LocalTurns>();

  constructor(
    private readonly engine: LockEngine,
    private readonly waiters: Waiters,
  ) {}

  get size(): number {
    return this.held.size;
  }

  keep(lease: Lease, turns: LocalTurns): void {
    lease.heir = this;
    this.held.set(lease, turns);
  }

  handOn(lease: Lease, endedAt: MonotonicMs): boolean {
    const { engine, waiters } = this;
    waiters.skipOverdue(endedAt);
    // Listeners that heard of the end may have taken their time.
    const now = engine.hub.observed ? engine.clock.monotonic() : endedAt;
    const turns = this.held.get(lease);
    const next = waiters.first;
    if (next === undefined || turns === undefined || !this.mayInherit(next, lease)) return false;
    if (!turns.mayPass(now) || !engine.leases.isSure(lease, now)) return false;
    lease.passTo(turns.pass(), now, next.label);
    waiters.served(next);
    if (waiters.size > 0 && turns.wantsMore(now)) {
      turns.asking();
      void engine.leases.reserve(lease, turns, tokensFor(waiters.size));
    }
    engine.handOver(lease, next);
    return true;
  }

  leaseEnded(lease: Lease): void {
    this.held.delete(lease);
    this.waiters.shareEnded();
  }

  private mayInherit(caller: Acquisition, lease: Lease): boolean {
    return lease.isHeritable && caller.inherits && caller.limit === lease.limit && !this.engine.isClosing;
  }
}
