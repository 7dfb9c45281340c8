import { firstRoom } from '../../port/limits.js';
import type { MonotonicMs } from '../../port/lock-store.js';
import { methods } from '../protocol/methods.js';
import { foundIn, type KeyValue } from '../protocol/replies.js';
import type { RangeCall } from '../protocol/requests.js';
import { holdersIn, readEntries, type Entry } from './entry.js';
import { clientOf, type LockRange } from './key-names.js';
import { ownName, type LockContext } from './lock-context.js';

/** All who hold a lock or wait for it, the oldest first, at a revision of etcd. */
export interface LockState {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly sentAt: MonotonicMs;
  /** Whether the base of tokens was seen to be missing at that revision. */
  readonly isWithoutBase?: boolean;
}

export function rangeOf({ start, end }: LockRange): RangeCall {
  return { do: 'range', key: start, end };
}

/** Looks at locks, and ends leases that are over. */
export class LockReader {
  constructor(private readonly context: LockContext) {}

  /** @param isHint whether it is enough to know what the member that is asked knows */
  async read(lock: LockRange, isHint = false): Promise<LockState> {
    const { base, connection, client } = this.context;
    const sentAt = client.now();
    // A token that a pushed grant takes from this revision needs the base that is in force at it.
    const ranges = [rangeOf(lock), base.range].map((range) => ({ ...range, serializable: isHint }));
    const { revision, reply } = await connection.call(methods.transaction, {
      do: 'txn',
      if: [],
      then: ranges,
      else: [],
    });
    const isWithoutBase = !base.learn(foundIn(reply.replies[1]));
    return { ...this.stateOf(lock, foundIn(reply.replies[0]), revision, sentAt), isWithoutBase };
  }

  /** The same, without those whose lease is over. */
  async readLiving(lock: LockRange): Promise<LockState> {
    for (;;) {
      const state = await this.read(lock);
      if (!(await this.endOverdue(lock, state.entries))) return state;
    }
  }

  stateOf(lock: LockRange, found: readonly KeyValue[], revision: number, sentAt: MonotonicMs): LockState {
    const entries = readEntries(lock, found);
    this.context.observations.note(lock.key, entries);
    return { entries, revision, sentAt };
  }

  /** Deletes holders whose lease is over. Answers whether there were any, so that it is time to look again. */
  async endOverdue(lock: LockRange, entries: readonly Entry[]): Promise<boolean> {
    const now = this.context.client.now();
    const overdue = holdersIn(entries).filter((entry) => this.overAt(entry) <= now);
    for (const { name, modified } of overdue) {
      // Not if it was written to meanwhile.
      await this.context.transactions.run([lock.key], {
        do: 'txn',
        if: [{ key: name, modified }],
        then: [{ do: 'delete', key: name }],
        else: [],
      });
    }
    return overdue.length > 0;
  }

  /** When the lease of a holder is over. The session's own it knows exactly. */
  overAt(entry: Entry): number {
    const own = this.ownOf(entry);
    if (own === undefined) return this.context.observations.overAt(entry);
    // A request that shortens it and is under way finds it gone if it is deleted now.
    return Math.max(own.endsAt, own.willEndAt);
  }

  /** Of a hold; undefined of one that its owner has not heard of yet. What is granted by a write does not know its token then. */
  tokenOf({ isHeld, token, offset, modified }: Entry): number | undefined {
    if (token !== undefined || !isHeld) return token;
    const first = this.context.base.writtenAt(modified);
    return first === undefined ? undefined : first + offset;
  }

  /** The same, with what this session knows of its own holds and has not written. */
  knownTokenOf(entry: Entry): number | undefined {
    return this.tokenOf(entry) ?? this.ownHoldOf(entry)?.token;
  }

  /** The session may know more than it has written. */
  ownHoldOf(
    entry: Entry,
  ): { readonly token: number | undefined; readonly since: Entry['since'] } | undefined {
    const own = this.context.own.get(ownName(entry.key, entry.owner));
    return own?.name === entry.name && own.isHeld ? own : undefined;
  }

  /** ms that are left of a lease at most. */
  leaseLeft(entry: Entry): number {
    const { client, observations } = this.context;
    const own = this.ownOf(entry);
    if (own !== undefined) return Math.max(0, own.endsAt - client.now());
    return observations.leaseLeft(entry);
  }

  /** ms until there may be room. */
  holderLeaseLeft(entries: readonly Entry[], limit: number): number | undefined {
    return firstRoom(
      limit,
      holdersIn(entries).map((entry) => this.leaseLeft(entry)),
    );
  }

  /** Whether others than this session's owners wait. */
  othersWait(entries: readonly Entry[]): boolean {
    const { id } = this.context.client;
    return entries.slice(holdersIn(entries).length).some(({ owner }) => clientOf(owner) !== id);
  }

  /** What the session knows of it by itself, unless somebody else has written to it. */
  private ownOf(entry: Entry): { readonly endsAt: number; readonly willEndAt: number } | undefined {
    const own = this.context.own.get(ownName(entry.key, entry.owner));
    if (own?.name !== entry.name || !own.isHeld) return undefined;
    return own.writing > 0 || own.modified === entry.modified ? own : undefined;
  }
}
