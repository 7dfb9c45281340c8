import { Glob } from '../../../common/glob.js';
import { LockQueue } from '../../ordered/lock-queue.js';
import { firstRoom } from '../../port/limits.js';
import type { ListedKeys, ListKeysRequest, MonotonicMs, StoredLock } from '../../port/lock-store.js';
import { checkCursor } from '../../port/store-failure.js';
import { foundIn, methods, type KeyValue, type RangeCall } from '../protocol.js';
import type { LockContext } from './context.js';
import { ownName, readEntries, type Entry, type LockRange } from './entries.js';
import type { OwnEntry } from './own-entries.js';

/** How long `inspect` waits for the holder of a pushed grant to write its token, ms. */
const TOKEN_PATIENCE = 100;
const TOKEN_PAUSE = 5;

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

  /** @param isHint whether the member may answer from its own state, which can lag behind */
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

  /** These hold the lock now, at the latest: their leases are measured from now on, unless they have been before. */
  observe(holders: readonly Entry[]): void {
    for (const entry of holders) if (this.isMeasured(entry)) this.see(entry);
  }

  /** The token that the stored entry shows; undefined if its owner has not seen the grant yet, so that nobody knows it. */
  tokenOf({ isHeld, token, offset, modified }: Entry): number | undefined {
    if (token !== undefined || !isHeld) return token;
    const first = this.context.base.writtenAt(modified);
    return first === undefined ? undefined : first + offset;
  }

  /** Like {@link tokenOf}; includes what this session has not written yet. */
  knownTokenOf(entry: Entry): number | undefined {
    return this.tokenOf(entry) ?? this.ownHoldOf(entry)?.token;
  }

  /** The most that can be left of a holder's lease, ms. */
  leaseLeft(entry: Entry): number {
    const own = this.ownHoldOf(entry);
    // Unless another process has written the entry since.
    if (own !== undefined && (own.writing > 0 || own.modified === entry.modified))
      return Math.max(0, own.endsAt - this.context.client.now());
    return this.isMeasured(entry) ? this.see(entry) : entry.lease;
  }

  /** ms until there may be room for a caller with this limit. */
  holderLeaseLeft({ holders }: LockState, limit: number): number | undefined {
    return firstRoom(
      limit,
      holders.map((entry) => this.leaseLeft(entry)),
    );
  }

  async inspect(key: string): Promise<StoredLock | null> {
    const { client, turns, names, timers } = this.context;
    const lock = names.lock(key);
    const until = client.now() + TOKEN_PATIENCE;
    for (;;) {
      const state = await turns.run(key, () => this.read(lock));
      const isKnown = state.holders.every((entry) => this.knownTokenOf(entry) !== undefined);
      if (isKnown || client.now() >= until) return this.storedLock(state);
      // Ends early if the session closes; the next read fails then.
      await timers.within(TOKEN_PAUSE, new Promise(() => undefined));
    }
  }

  /** Keys with holders or waiters, in the order of their names in etcd. */
  async listKeys({ match, cursor, count }: ListKeysRequest): Promise<ListedKeys> {
    const { connection, names } = this.context;
    checkCursor(cursor === undefined || names.isEntry(cursor));
    const { reply } = await connection.call(methods.range, {
      do: 'range',
      // The cursor is the last name of the previous page.
      key: cursor === undefined ? names.locks.start : `${cursor}\0`,
      end: names.locks.end,
      limit: count,
      keysOnly: true,
    });
    const found = reply.entries.map(({ key }) => key);
    const glob = new Glob(match);
    const keys = [...new Set(found.map((name) => names.keyOf(name)))].filter((key) => glob.matches(key));
    return { keys, cursor: found.length < count ? undefined : found.at(-1) };
  }

  private storedLock({ entries: [first], holders, waiters }: LockState): StoredLock | null {
    if (first === undefined) return null;
    return {
      limit: first.limit,
      holders: holders.map((entry) => ({
        owner: entry.owner,
        token: this.knownTokenOf(entry),
        since: this.ownHoldOf(entry)?.since ?? entry.since,
        leaseLeft: this.leaseLeft(entry),
        label: entry.label,
      })),
      waiters: waiters.map(({ owner, callers, limit, label }) => ({ owner, callers, limit, label })),
    };
  }

  /** A hold of this session, which may know more than the stored entry. */
  private ownHoldOf({ key, owner, name }: Entry): OwnEntry | undefined {
    const own = this.context.own.get(ownName(key, owner));
    return own?.name === name && own.isHeld ? own : undefined;
  }

  /** Whether waiters end the hold. Its own session ends it without them, and so may its etcd lease alone (`isKept`). */
  private isMeasured(entry: Entry): boolean {
    return !entry.isKept && this.ownHoldOf(entry) === undefined;
  }

  private see({ key, name, modified, lease }: Entry): number {
    return this.context.observed.see(key, name, modified, lease);
  }
}
