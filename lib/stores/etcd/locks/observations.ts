import type { MonotonicMs } from '../../port/lock-store.js';
import { observedEnd } from '../../port/observed-leases.js';
import { holdersIn, type Entry } from './entry.js';

/** How long something is remembered that nobody looks at any more, ms, after it is over. */
const RETENTION = 60_000;
/** Of so many locks nothing is forgotten. */
const FEW = 1_000;

interface Observation {
  readonly modified: number;
  readonly since: MonotonicMs;
  readonly lease: number;
}

/**
 * Ends leases without the clock of a server: whoever has seen the same entry of a holder unchanged for longer than its
 * lease knows that the lease is over, since the holder counts from before it has written, and the observer from after that.
 * What is kept alive by its etcd lease is not observed: etcd ends it.
 */
export class Observations {
  /** By the name of the lock, and that of the entry. */
  private readonly seen = new Map<string, Map<string, Observation>>();
  /** When there are so many locks, those are forgotten that are long over. */
  private most = FEW;

  constructor(private readonly now: () => MonotonicMs) {}

  /** These are all entries of a lock. */
  note(key: string, entries: readonly Entry[]): void {
    const holders = holdersIn(entries);
    const known = this.seen.get(key);
    const now = this.now();
    let next: Map<string, Observation> | undefined;
    // That of a waiter begins when it becomes the holder.
    for (const { name, modified, lease, isKept } of holders) {
      if (isKept) continue;
      const before = known?.get(name);
      const observation = before?.modified === modified ? before : { modified, since: now, lease };
      (next ??= new Map<string, Observation>()).set(name, observation);
    }
    this.remember(key, next, now);
  }

  /** These hold the lock since a deletion that was heard of just now, if they did not hold it before. */
  promoted(key: string, holders: readonly Entry[]): void {
    const since = this.now();
    const known = this.seen.get(key) ?? new Map<string, Observation>();
    for (const { name, modified, lease, isKept } of holders) {
      // What was known of them may be older than what was seen.
      if (!isKept && !known.has(name)) known.set(name, { modified, since, lease });
    }
    this.remember(key, known.size > 0 ? known : undefined, since);
  }

  /** When the lease of a holder is over for sure; in an hour that never comes for one that was not seen. */
  overAt({ key, name, modified }: Entry): number {
    const known = this.seen.get(key)?.get(name);
    return known?.modified === modified ? observedEnd(known.since, known.lease) : Infinity;
  }

  /** ms that are left of a lease at most. */
  leaseLeft({ key, name, modified, lease }: Entry): number {
    const known = this.seen.get(key)?.get(name);
    if (known?.modified !== modified) return lease;
    return Math.max(0, known.lease - (this.now() - known.since));
  }

  /** What was there may have been lost, and something else be called the same. */
  clear(): void {
    this.seen.clear();
    this.most = FEW;
  }

  private remember(key: string, observations: Map<string, Observation> | undefined, now: MonotonicMs): void {
    if (observations === undefined) this.seen.delete(key);
    else this.seen.set(key, observations);
    if (this.seen.size <= this.most) return;
    for (const [name, known] of this.seen) {
      let end = 0;
      for (const { since, lease } of known.values()) end = Math.max(end, observedEnd(since, lease));
      if (end + RETENTION < now) this.seen.delete(name);
    }
    // Not before as many have come again: each look costs the same, however many there are.
    this.most = Math.max(FEW, 2 * this.seen.size);
  }
}
