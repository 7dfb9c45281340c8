import { firstRoom } from '../port/limits.js';
import type { AcquireRequest } from '../port/lock-store.js';
import { grantRevision, type ReadEntry } from './entry-data.js';
import type { LockQueue } from './lock-queue.js';
import { ObservedLeases } from './observed-leases.js';
import type { OrderedDriver } from './ordered-driver.js';
import type { SessionContext } from './own-entries.js';

/** How many holders of a lock are read by waiters that need not read all of them. */
const MOST_LOOKED_AT = 32;

/** What is left of the leases of holders. */
export class HolderLeases {
  private readonly observed: ObservedLeases;

  constructor(
    private readonly driver: Pick<OrderedDriver, 'read' | 'removeUnchanged'>,
    { client, timers }: SessionContext,
  ) {
    this.observed = new ObservedLeases(client, timers, (key, path, modified) =>
      driver.removeUnchanged(key, path, modified),
    );
  }

  /**
   * Observes holders, so that their leases end if they are not renewed. Callers that don't wait and some waiters observe
   * all of them, so that every lease that is measured by callers ends.
   *
   * @returns ms until there may be room
   */
  async leaseLeft(
    { key, holders }: LockQueue,
    request: Pick<AcquireRequest, 'limit' | 'permits'>,
    readsAll = true,
  ): Promise<number | undefined> {
    this.observed.keepOnly(
      key,
      holders.map(({ path }) => path),
    );
    const some = readsAll ? holders : holders.slice(0, MOST_LOOKED_AT);
    const lefts = await Promise.all(
      some.map(async (holder) => {
        const { path, permits } = holder;
        const read = holder.content?.() ?? (await this.driver.read(key, path));
        return read && { end: this.see(key, path, read), permits };
      }),
    );
    return firstRoom(
      request,
      lefts.flatMap((left) => left ?? []),
    );
  }

  /** A holder was read. Returns how much of its lease is left at most, ms. */
  see(key: string, path: string, read: ReadEntry): number {
    const { data, modified } = read;
    // An entry that has not yet written that it holds the lock has only the short claim lease to do so.
    const isClaimed = grantRevision(read) !== undefined;
    if (!isClaimed) return this.observed.see(key, path, modified, data.claim);
    if (!data.isKept) return this.observed.see(key, path, modified, data.lease);
    this.observed.forget(path);
    return data.lease;
  }

  /** Revisions may repeat: the store has lost data. */
  clear(): void {
    this.observed.clear();
  }
}
