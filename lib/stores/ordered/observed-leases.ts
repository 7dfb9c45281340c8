import { later } from '../../common/clock.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient, MonotonicMs } from '../port/lock-store.js';

/** Spreads the processes that end the same lease, ms. */
const SPREAD = 15;
/** The pause before another attempt to delete an entry, ms. */
const RETRY_PAUSE = 200;

interface Observed {
  readonly key: string;
  readonly modified: number;
  readonly timer: CallbackTimer;
  endsAt: MonotonicMs;
}

/**
 * Ends leases in a store that keeps no time. As clocks run at different speeds, a lease ends when an observer has seen its
 * entry unchanged for longer than it lasts. Its holder counts from before it wrote the entry, so it knows earlier.
 */
export class ObservedLeases {
  private readonly observed = new Map<string, Observed>();
  /** The observed entries of each lock. */
  private readonly byKey = new Map<string, Set<string>>();

  /** @param end deletes the entry if it was not written since; called again if that fails */
  constructor(
    private readonly client: Pick<LockStoreClient, 'now'>,
    private readonly timers: TimerQueue,
    private readonly end: (key: string, path: string, modified: number) => Promise<unknown>,
  ) {}

  /** The entry of a holder was read at this revision. Returns how much of the lease is left at most, ms. */
  see(key: string, path: string, modified: number, lease: number): number {
    const now = this.client.now();
    const known = this.observed.get(path);
    const endsAt = later(now, lease * 1.01 + 20);
    // Revisions grow: an older one is a late read.
    if (known !== undefined && known.modified >= modified) {
      if (known.modified === modified && endsAt < known.endsAt) this.endAt(known, endsAt);
      return Math.min(lease, Math.max(0, known.endsAt - now));
    }
    this.forget(path);
    const timer = new CallbackTimer(() => {
      this.end(key, path, modified).then(
        () => {
          if (this.observed.get(path) === observed) this.forget(path);
        },
        () => {
          if (this.observed.get(path) === observed)
            this.timers.set(timer, later(this.client.now(), RETRY_PAUSE));
        },
      );
    });
    const observed: Observed = { key, modified, timer, endsAt };
    this.observed.set(path, observed);
    const paths = this.byKey.get(key);
    if (paths === undefined) this.byKey.set(key, new Set([path]));
    else paths.add(path);
    this.endAt(observed, endsAt);
    return lease;
  }

  /** The lock has no other holders. */
  keepOnly(key: string, paths: readonly string[]): void {
    for (const path of this.byKey.get(key) ?? []) if (!paths.includes(path)) this.forget(path);
  }

  /** Revisions may start over: the store has lost data. */
  clear(): void {
    for (const { timer } of this.observed.values()) this.timers.clear(timer);
    this.observed.clear();
    this.byKey.clear();
  }

  private endAt(observed: Observed, endsAt: MonotonicMs): void {
    observed.endsAt = endsAt;
    this.timers.set(observed.timer, later(endsAt, Math.random() * SPREAD));
  }

  forget(path: string): void {
    const known = this.observed.get(path);
    if (known === undefined) return;
    this.timers.clear(known.timer);
    this.observed.delete(path);
    const paths = this.byKey.get(known.key);
    paths?.delete(path);
    if (paths?.size === 0) this.byKey.delete(known.key);
  }
}
