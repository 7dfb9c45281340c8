import { later } from '../../common/clock.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient, MonotonicMs } from '../port/lock-store.js';

/** Spreads the processes that end the same lease, ms. */
const SPREAD = 15;
/** The pause before another attempt to delete a record, ms. */
const RETRY_PAUSE = 200;

interface Observed {
  readonly lock: string;
  readonly version: number;
  readonly timer: CallbackTimer;
  endsAt: MonotonicMs;
}

/**
 * Ends leases in a store that keeps no time. As clocks run at different speeds, a lease ends when an observer has seen its
 * record unchanged for longer than it lasts. Its holder counts from before it wrote the record, so it knows earlier.
 */
export class ObservedLeases {
  private readonly observed = new Map<string, Observed>();
  /** The records of each lock. */
  private readonly byLock = new Map<string, Set<string>>();

  /** @param end deletes the record if its version is still the observed one; called again if that fails */
  constructor(
    private readonly client: Pick<LockStoreClient, 'now'>,
    private readonly timers: TimerQueue,
    private readonly end: (id: string, version: number) => Promise<unknown>,
  ) {}

  /** The record of a holder was read with this version. Returns how much of the lease is left at most, ms. */
  see(lock: string, id: string, version: number, lease: number): number {
    const now = this.client.now();
    const known = this.observed.get(id);
    const endsAt = later(now, lease * 1.01 + 20);
    // Versions grow: an older one is a late read.
    if (known !== undefined && known.version >= version) {
      if (known.version === version && endsAt < known.endsAt) this.endAt(known, endsAt);
      return Math.min(lease, Math.max(0, known.endsAt - now));
    }
    this.forget(id);
    const timer = new CallbackTimer(() => {
      this.end(id, version).then(
        () => {
          if (this.observed.get(id) === observed) this.forget(id);
        },
        () => {
          if (this.observed.get(id) === observed)
            this.timers.set(timer, later(this.client.now(), RETRY_PAUSE));
        },
      );
    });
    const observed: Observed = { lock, version, timer, endsAt };
    this.observed.set(id, observed);
    const ids = this.byLock.get(lock);
    if (ids === undefined) this.byLock.set(lock, new Set([id]));
    else ids.add(id);
    this.endAt(observed, endsAt);
    return lease;
  }

  /** The lock has no other holders. */
  keepOnly(lock: string, ids: readonly string[]): void {
    for (const id of this.byLock.get(lock) ?? []) if (!ids.includes(id)) this.forget(id);
  }

  /** Versions may start over: the store has lost data. */
  clear(): void {
    for (const { timer } of this.observed.values()) this.timers.clear(timer);
    this.observed.clear();
    this.byLock.clear();
  }

  private endAt(observed: Observed, endsAt: MonotonicMs): void {
    observed.endsAt = endsAt;
    this.timers.set(observed.timer, later(endsAt, Math.random() * SPREAD));
  }

  private forget(id: string): void {
    const known = this.observed.get(id);
    if (known === undefined) return;
    this.timers.clear(known.timer);
    this.observed.delete(id);
    const ids = this.byLock.get(known.lock);
    ids?.delete(id);
    if (ids?.size === 0) this.byLock.delete(known.lock);
  }
}
