import { later } from '../../common/clock.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient, MonotonicMs } from '../port/lock-store.js';

/** When an observed lease counts as over: later than its holder's count, since clocks run at different speeds. */
export function observedEnd(seenAt: MonotonicMs, lease: number): MonotonicMs {
  return later(seenAt, lease * 1.01 + 20);
}

interface Observed {
  readonly version: number;
  readonly timer: CallbackTimer;
  endsAt: MonotonicMs;
}

/**
 * Ends leases in a store that keeps no time: a lease is over when an observer has seen its record unchanged for that long.
 * Its holder counts from before it wrote the record, so it knows earlier. Delete the record only if its version is still
 * the one that was seen.
 */
export class ObservedLeases {
  private readonly observed = new Map<string, Observed>();

  constructor(
    private readonly client: Pick<LockStoreClient, 'now'>,
    private readonly timers: TimerQueue,
    private readonly onOver: (id: string, version: number) => void,
  ) {}

  /** The record was seen with that version. Returns how much of the lease is left at most, ms. */
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
