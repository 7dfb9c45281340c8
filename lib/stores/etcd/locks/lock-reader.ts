import { LockQueue } from '../../ordered/lock-queue.js';
import { firstRoom } from '../../port/limits.js';
import type { AcquireRequest, MonotonicMs, StoredHold } from '../../port/lock-store.js';
import { foundIn, methods, type KeyValue, type RangeCall } from '../connection/protocol.js';
import type { LockContext } from './context.js';
import { readEntries, type Entry, type LockRange } from './entries.js';
import type { OwnEntry } from './own-entries.js';

/** The entries of a lock at a revision of etcd. */
export class LockState extends LockQueue<Entry> {
  isWithoutBase = false;

  constructor(
    entries: readonly Entry[],
    readonly revision: number,
    readonly sentAt: MonotonicMs,
  ) {
    super(entries);
  }
}

export function rangeOf({ start, end }: LockRange): RangeCall {
  return { do: 'range', key: start, end };
}

/** Reads locks. */
export class LockReader {
  constructor(private readonly context: LockContext) {}

  /** @param isHint whether the member may reply from its own state, which can lag behind */
  async read(lock: LockRange, isHint = false): Promise<LockState> {
    const { base, connection, client } = this.context;
    const sentAt = client.now();
    // The token of a pushed grant depends on the base at this revision.
    const then = [rangeOf(lock), base.range].map((range) => ({ ...range, serializable: isHint }));
    const { revision, reply } = await connection.call(methods.transaction, { do: 'txn', then });
    const isWithoutBase = !base.learn(foundIn(reply.replies[1]));
    return Object.assign(this.stateOf(lock, foundIn(reply.replies[0]), revision, sentAt), { isWithoutBase });
  }

  stateOf(lock: LockRange, found: readonly KeyValue[], revision: number, sentAt: MonotonicMs): LockState {
    const state = new LockState(readEntries(lock, found), revision, sentAt);
    const { holders } = state;
    this.context.observed.keepOnly(
      lock.key,
      holders.map(({ name }) => name),
    );
    this.observe(holders);
    return state;
  }

  /**
   * These hold the lock now, at the latest: their leases are measured from now on, unless they already are. Excludes
   * those of this session, which ends them itself, and those that end only with their etcd lease (`isKept`).
   */
  observe(holders: readonly Entry[]): void {
    for (const entry of holders) if (!entry.isKept && this.upToDateOf(entry) === undefined) this.see(entry);
  }

  /** The token in the stored entry; undefined if its owner has not noticed the grant yet, so that the token is unknown. */
  tokenOf({ isHeld, token, modified }: Entry): number | undefined {
    return token !== undefined || !isHeld ? token : this.context.base.writtenAt(modified);
  }

  /** The upper bound of what is left of a holder's lease, ms. */
  leaseLeft(entry: Entry): number {
    const own = this.upToDateOf(entry);
    if (own !== undefined) return Math.max(0, own.endsAt - this.context.client.now());
    return entry.isKept ? entry.lease : this.see(entry);
  }

  /** ms until there may be room for this request. */
  holderLeaseLeft(
    { holders }: LockState,
    request: Pick<AcquireRequest, 'limit' | 'permits'>,
  ): number | undefined {
    return firstRoom(
      request,
      holders.map((entry) => ({ end: this.leaseLeft(entry), permits: entry.permits })),
    );
  }

  storedHold(entry: Entry): StoredHold {
    const { owner, permits, label } = entry;
    return {
      owner,
      token: this.tokenOf(entry) ?? this.ownHoldOf(entry)?.token,
      since: this.ownHoldOf(entry)?.since ?? entry.since,
      leaseLeft: this.leaseLeft(entry),
      permits,
      label,
    };
  }

  /** A hold of this session, which may know more than the stored entry. */
  private ownHoldOf({ key, owner, name }: Entry): OwnEntry | undefined {
    const own = this.context.own.get(key, owner);
    return own?.name === name && own.isHeld ? own : undefined;
  }

  /** Like {@link ownHoldOf}, unless another process has written the entry since. */
  private upToDateOf(entry: Entry): OwnEntry | undefined {
    const own = this.ownHoldOf(entry);
    return own !== undefined && (own.writing > 0 || own.modified === entry.modified) ? own : undefined;
  }

  private see({ key, name, modified, lease }: Entry): number {
    return this.context.observed.see(key, name, modified, lease);
  }
}
