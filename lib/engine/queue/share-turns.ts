import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { Waiter } from './waiter.js';
import type { Timer } from '../../common/timer-queue.js';
import { later } from '../../common/clock.js';
import type { Lease, LeaseSuccessor } from '../lease/lease.js';
import type { TokenTaker } from '../lease/token-taker.js';
import { MAX_LOCAL_HANDOVERS, MAX_LOCAL_TENURE } from './local-turns.js';
import type { EngineContext } from '../context.js';
import { handOver } from './hand-over.js';

/**
 * For how long, ms, shares go back at once after the store was too late with an answer: over a slow network that is the
 * quicker way, and it costs others nothing.
 */
const WITHOUT_REST = 1_000;

/** Who waits for shares in this process. */
interface Waiters {
  /** The first of them. */
  readonly first: Waiter | undefined;
  skipOverdue(now: MonotonicMs): void;
  /** The caller has got what it waited for in another way than by its place. */
  served(caller: Waiter): void;
  /** A share that was kept for them is over. */
  shareEnded(): void;
}

/**
 * The shares of a semaphore that this process holds. One passes from a caller to the next by a single request for a
 * token: tokens reserved before would be smaller than those of holds that began elsewhere meanwhile (B16). While others
 * may be waiting that is bounded as for the whole lock (P20).
 */
export class ShareTurns implements LeaseSuccessor, Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  private readonly held = new Map<Lease, Run>();
  private restsFrom = -Infinity;

  constructor(
    private readonly engine: EngineContext,
    private readonly waiters: Waiters,
  ) {}

  get size(): number {
    return this.held.size;
  }

  keep(lease: Lease, othersWait: boolean): void {
    lease.heir = this;
    this.held.set(lease, new Run(othersWait, lease.startedAt));
  }

  handOn(lease: Lease, endedAt: MonotonicMs): boolean {
    this.waiters.skipOverdue(endedAt);
    const run = this.held.get(lease);
    const next = this.waiters.first;
    if (next === undefined || run === undefined || !this.mayInherit(next, lease)) return false;
    if (endedAt < this.restsFrom || !run.mayGoOn(endedAt) || !this.engine.leases.isSure(lease)) return false;
    lease.isParked = true;
    run.rest(endedAt);
    if (this.heapIndex === -1) this.engine.timers.set(this, run.restsUntil);
    this.engine.leases.reserve(lease, run, 1, () => {
      this.passOn(lease, run);
    });
    return true;
  }

  leaseEnded(lease: Lease): void {
    this.held.delete(lease);
    if (this.held.size === 0 && this.heapIndex !== -1) this.engine.timers.clear(this);
    this.waiters.shareEnded();
  }

  /** The store has not answered in time for a share that rests: others shall have it. */
  fire(now: MonotonicMs): void {
    let next = Infinity;
    for (const [lease, run] of [...this.held]) {
      if (!lease.isParked) continue;
      if (run.restsUntil > now) next = Math.min(next, run.restsUntil);
      else {
        this.restsFrom = later(now, WITHOUT_REST);
        void this.engine.leases.giveUp(lease);
      }
    }
    if (next !== Infinity) this.engine.timers.set(this, next as MonotonicMs);
  }

  /** Gives back the shares that rest, since nobody waits for them any more. */
  endRests(): readonly Promise<unknown>[] {
    return [...this.held.keys()]
      .filter(({ isParked }) => isParked)
      .map((lease) => this.engine.leases.giveUp(lease));
  }

  /** The store has told whether the share may go on, and the token of the next hold. */
  private passOn(lease: Lease, run: Run): void {
    const { engine, waiters } = this;
    if (lease.state !== 'held') return;
    const now = engine.clock.monotonic();
    waiters.skipOverdue(now);
    const token = run.take();
    const next = waiters.first;
    const passes = next !== undefined && this.mayInherit(next, lease) && engine.leases.isSure(lease, now);
    if (token === undefined || !passes) {
      void engine.leases.giveUp(lease);
      return;
    }
    lease.passTo(token, now, next.label);
    waiters.served(next);
    handOver(engine, lease, next);
  }

  private mayInherit(caller: Waiter, lease: Lease): boolean {
    return lease.isTransferable && caller.inherits && caller.limit === lease.limit && !this.engine.isClosing;
  }
}

/** How often one share has passed on since others were last known not to wait. */
class Run implements TokenTaker {
  /** Until when the share may be kept without a hold. */
  restsUntil = Infinity as MonotonicMs;
  private handOvers = 0;
  private token: number | undefined;

  constructor(
    private othersWait: boolean,
    private countedFrom: MonotonicMs,
  ) {}

  mayGoOn(now: MonotonicMs): boolean {
    if (!this.othersWait) return true;
    return this.handOvers < MAX_LOCAL_HANDOVERS && now < this.countedFrom + MAX_LOCAL_TENURE;
  }

  /** The share is kept for the next hold from now on. */
  rest(now: MonotonicMs): void {
    this.restsUntil = later(this.othersWait ? this.countedFrom : now, MAX_LOCAL_TENURE);
  }

  /** The token of the next hold, if there is one. */
  take(): number | undefined {
    const { token } = this;
    this.token = undefined;
    return token;
  }

  renewed(token: number, _tokens: number, othersWait: boolean, sentAt: MonotonicMs): void {
    this.token = token;
    this.handOvers += 1;
    if (!othersWait) {
      this.handOvers = 0;
      this.countedFrom = sentAt;
    }
    this.othersWait = othersWait;
  }

  failed(): void {
    this.token = undefined;
  }
}
