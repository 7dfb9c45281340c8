import { fixed } from '../../model/backoff.js';
import type { ResolvedRetry } from '../../model/lock-retry.options.js';

/** A caller that may not wait gets a lock that is free, and nothing else. */
export const ONCE: ResolvedRetry = { maxAttempts: 1, backoff: fixed(1) };

/** How many callers wait for each key by trying again. Kept as numbers: a burst of callers asks once each. */
export class WaitingTries {
  private readonly counts = new Map<string, number>();

  of(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  add(key: string): void {
    this.counts.set(key, this.of(key) + 1);
  }

  remove(key: string): void {
    const left = this.of(key) - 1;
    if (left > 0) this.counts.set(key, left);
    else this.counts.delete(key);
  }
}
