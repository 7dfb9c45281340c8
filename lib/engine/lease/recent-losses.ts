import type { MonotonicMs } from '../../stores/port/lock-store.js';

/** For how long, ms, a loss is recent. */
const RECENT = 5 * 60_000;
/** Losses that are known one by one; of older ones it is not known any more when each was. */
const MOST = 10_000;

/** How many holds were lost lately. */
export class RecentLosses {
  private times: MonotonicMs[] = [];

  add(count: number, now: MonotonicMs): void {
    for (let i = 0; i < count; i += 1) this.times.push(now);
    if (this.times.length > MOST) this.times = this.times.slice(-MOST / 2);
  }

  /** Those of the last five minutes. */
  count(now: MonotonicMs): number {
    this.times = this.times.filter((time) => now - time < RECENT);
    return this.times.length;
  }
}
