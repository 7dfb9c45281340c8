import { later } from '../../common/clock.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient, MonotonicMs } from './lock-store.js';

/**
 * What is left beyond a lease before it counts as over: clocks run at different speeds, and whoever holds the lock counts
 * by its own.
 */
export function observedEnd(seenAt: MonotonicMs, lease: number): MonotonicMs {
  return later(seenAt, lease * 1.01 + 20);
}

interface Observed {
  readonly version: number;
  readonly timer: CallbackTimer;
  endsAt: MonotonicMs;
}

/**
 * The ends of leases in a store that keeps no time: a lease is over when its record has stood unchanged for that long
 * before the eyes of one who watches. Its holder counts from before it wrote the record, so it knows by then. The record has
 * to be deleted only if its version is still the one that was seen.
 */
export class ObservedLeases {
  private readonly observed = new Map<string, Observed>();

  constructor(
    private readonly client: Pick<LockStoreClient, 'now'>,
    private readonly timers: TimerQueue,
    private readonly onOver: (id: string, version: number) => void,
  ) {}

  /** The record was there with that version. Answers how much of the lease is left at most, ms. */
  see(id: string, version: number, lease: number): number {
    const now = this.client.now();
    const known = this.observed.get(id);
    const endsAt = observedEnd(now, lease);
    if (known?.version === version) {
      if (endsAt < known.endsAt) {
        known.endsAt = endsAt;
        this.timers.set(known.timer, endsAt);
      }
      return Math.min(lease, Math.max(0, known.endsAt - now));
    }
    this.forget(id);
    const timer = new CallbackTimer(() => {
      this.observed.delete(id);
      this.onOver(id, version);
    });
    this.observed.set(id, { version, timer, endsAt });
    this.timers.set(timer, endsAt);
    return lease;
  }

  forget(id: string): void {
    const known = this.observed.get(id);
    if (known === undefined) return;
    this.timers.clear(known.timer);
    this.observed.delete(id);
  }
}
