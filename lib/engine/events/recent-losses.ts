import type { LostLock } from '../../model/lock-status.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';

/** For how long, ms, a loss is recent. */
const RECENT = 5 * 60_000;
/** Losses that are known one by one; of older ones it is not known any more when each was. */
const MOST = 10_000;
/** Losses of which people are told what was lost. */
const MOST_TOLD = 100;

/** What was lost lately. */
export class RecentLosses {
  private times: MonotonicMs[] = [];
  private latest: { readonly lost: LostLock; readonly time: MonotonicMs }[] = [];

  add(losses: readonly LostLock[], now: MonotonicMs): void {
    for (const lost of losses) {
      this.times.push(now);
      this.latest.push({ lost, time: now });
    }
    if (this.latest.length > MOST_TOLD) this.latest = this.latest.slice(-MOST_TOLD);
    if (this.times.length > MOST) this.times = this.times.slice(-MOST / 2);
  }

  /** The last of them, the newest first. */
  list(now: MonotonicMs): readonly LostLock[] {
    this.latest = this.latest.filter(({ time }) => now - time < RECENT);
    return this.latest.map(({ lost }) => lost).reverse();
  }

  /** Those of the last five minutes. */
  count(now: MonotonicMs): number {
    this.times = this.times.filter((time) => now - time < RECENT);
    return this.times.length;
  }
}
