import type { MonotonicMs } from '../../port/lock-store.js';
import { observedEnd } from '../../port/observed-leases.js';
import { holdersIn, type Entry } from './entry.js';

/** How long something is remembered that nobody looks at any more, ms, after it is over. */
const RETENTION = 60_000;
const MOST = 1_000;

interface Observation {
  readonly modified: number;
  readonly since: MonotonicMs;
  readonly lease: number;
}

/**
 * Ends leases without the clock of a server: whoever has seen the same entry of a holder unchanged for longer than its
 * lease knows that the lease is over, since the holder counts from before it has written, and the observer from after that.
 */
export class Observations {
  private readonly seen = new Map<string, Observation>();

  constructor(private readonly now: () => MonotonicMs) {}

  /** These are all entries of a lock. */
  note(entries: readonly Entry[]): void {
    const now = this.now();
    const holders = holdersIn(entries);
    for (const { name, modified, lease } of holders) {
      if (this.seen.get(name)?.modified === modified) continue;
      this.seen.delete(name);
      this.seen.set(name, { modified, since: now, lease });
    }
    // That of a waiter begins when it becomes the holder.
    for (const { name } of entries.slice(holders.length)) this.seen.delete(name);
    if (this.seen.size > MOST) this.forgetOld(now);
  }

  /** These hold the lock since a deletion that was heard of just now, if they did not hold it before. */
  promoted(holders: readonly Entry[]): void {
    const since = this.now();
    for (const { name, modified, lease } of holders) {
      // What was known of them may be older than what was seen.
      if (!this.seen.has(name)) this.seen.set(name, { modified, since, lease });
    }
    if (this.seen.size > MOST) this.forgetOld(since);
  }

  /** When the lease of a holder is over for sure; in an hour that never comes for one that was not seen. */
  overAt({ name, modified }: Entry): number {
    const known = this.seen.get(name);
    return known?.modified === modified ? observedEnd(known.since, known.lease) : Infinity;
  }

  /** ms that are left of a lease at most. */
  leaseLeft({ name, modified, lease }: Entry): number {
    const known = this.seen.get(name);
    if (known?.modified !== modified) return lease;
    return Math.max(0, known.lease - (this.now() - known.since));
  }

  /** What was there may have been lost, and something else be called the same. */
  clear(): void {
    this.seen.clear();
  }

  private forgetOld(now: MonotonicMs): void {
    for (const [name, { since, lease }] of this.seen) {
      if (observedEnd(since, lease) + RETENTION < now) this.seen.delete(name);
    }
  }
}
