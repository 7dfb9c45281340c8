import { Glob } from '../../../common/glob.js';
import { LockQueue } from '../../ordered/lock-queue.js';
import { observedEnd } from '../../ordered/observed-leases.js';
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

/** Reads locks, and deletes holds whose lease has expired. */
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

  async readLiving(lock: LockRange): Promise<LockState> {
    for (;;) {
      const state = await this.read(lock);
      if (!(await this.deleteExpired(lock, state))) return state;
    }
  }

  stateOf(lock: LockRange, found: readonly KeyValue[], revision: number, sentAt: MonotonicMs): LockState {
    const state = new LockState(readEntries(lock, found), revision, sentAt);
    this.context.observations.note(lock.key, state.holders);
    return state;
  }

  /** Deletes holders whose lease has expired. Returns whether there were any: the lock has changed then. */
  async deleteExpired(lock: LockRange, { holders }: LockState): Promise<boolean> {
    const now = this.context.client.now();
    const expired = holders.filter((entry) => this.expiresAt(entry) <= now);
    for (const { name, modified } of expired) {
      // Not if it was renewed meanwhile.
      await this.context.transactions.runIf(lock.key, { key: name, modified }, { do: 'delete', key: name });
    }
    return expired.length > 0;
  }

  /** When the lease of a holder has certainly expired; `Infinity` if that is not known. */
  expiresAt(entry: Entry): number {
    const own = this.upToDateOf(entry);
    if (own === undefined) return this.context.observations.expiresAt(entry);
    // A pending request that shortens the lease must not find the entry deleted.
    return Math.max(own.endsAt, own.willEndAt);
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
    const { client, observations } = this.context;
    const own = this.upToDateOf(entry);
    if (own !== undefined) return Math.max(0, own.endsAt - client.now());
    return observations.leaseLeft(entry);
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
      const state = await turns.run(key, () => this.readLiving(lock));
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

  /** Like {@link ownHoldOf}, unless another process has written the entry since. */
  private upToDateOf(entry: Entry): OwnEntry | undefined {
    const own = this.ownHoldOf(entry);
    return own !== undefined && (own.writing > 0 || own.modified === entry.modified) ? own : undefined;
  }
}

/** How long an observation is kept after the lease has expired, ms. */
const RETENTION = 60_000;
/** Below this number of locks, nothing is dropped. */
const FEW = 1_000;

interface Observation {
  readonly modified: number;
  readonly since: MonotonicMs;
  readonly lease: number;
}

/**
 * Detects expired leases without a server's clock: a lease has expired when its entry was seen unchanged for longer than it
 * lasts, since the holder counts from before its write and the observer from after its read. Holds that only their etcd lease
 * ends (`isKept`) are not observed.
 */
export class Observations {
  private readonly seen = new Map<string, Map<string, Observation>>();
  /** Above this number of locks, old observations are dropped. */
  private most = FEW;

  constructor(private readonly now: () => MonotonicMs) {}

  /** @param holders all holders of the lock */
  note(key: string, holders: readonly Entry[]): void {
    const known = this.seen.get(key);
    const now = this.now();
    let next: Map<string, Observation> | undefined;
    // The lease of a waiter starts when it becomes a holder.
    for (const { name, modified, lease, isKept } of holders) {
      if (isKept) continue;
      const before = known?.get(name);
      const observation = before?.modified === modified ? before : { modified, since: now, lease };
      (next ??= new Map<string, Observation>()).set(name, observation);
    }
    this.remember(key, next, now);
  }

  /** @param holders hold the lock at the latest since a deletion that was reported just now */
  promoted(key: string, holders: readonly Entry[]): void {
    const since = this.now();
    const known = this.seen.get(key) ?? new Map<string, Observation>();
    for (const { name, modified, lease, isKept } of holders) {
      // An observation may be newer than these entries.
      if (!isKept && !known.has(name)) known.set(name, { modified, since, lease });
    }
    this.remember(key, known.size > 0 ? known : undefined, since);
  }

  /** When the lease of a holder has certainly expired; `Infinity` if it was not observed. */
  expiresAt({ key, name, modified }: Entry): number {
    const known = this.seen.get(key)?.get(name);
    return known?.modified === modified ? observedEnd(known.since, known.lease) : Infinity;
  }

  /** The most that can be left of a holder's lease, ms. */
  leaseLeft({ key, name, modified, lease }: Entry): number {
    const known = this.seen.get(key)?.get(name);
    if (known?.modified !== modified) return lease;
    return Math.max(0, known.lease - (this.now() - known.since));
  }

  /** Drops everything: etcd's data may have been lost, and revisions repeat. */
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
    // The next clean-up waits until the map has doubled, so that its cost per observation stays constant.
    this.most = Math.max(FEW, 2 * this.seen.size);
  }
}
