import type { LockStoreClient, MonotonicMs } from '../../port/lock-store.js';

/**
 * Since when texts have been seen unchanged. One is over when it has been seen for as long as it was to last: by then it has
 * lasted for that long at least, whatever the clocks of others say.
 */
export class SeenTexts {
  private readonly seen = new Map<string, { readonly change: number; readonly since: MonotonicMs }>();

  constructor(private readonly client: Pick<LockStoreClient, 'now'>) {}

  /** @param change the transaction that wrote it */
  isOver(path: string, change: number, ttl: number): boolean {
    const now = this.client.now();
    const known = this.seen.get(path);
    if (known?.change === change) return now - known.since >= ttl;
    this.seen.set(path, { change, since: now });
    return false;
  }

  /** Forgets all others, which are gone. */
  keepOnly(paths: readonly string[]): void {
    const kept = new Set(paths);
    for (const path of this.seen.keys()) if (!kept.has(path)) this.seen.delete(path);
  }
}
