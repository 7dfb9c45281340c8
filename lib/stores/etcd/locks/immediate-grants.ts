import { roomBehind } from '../../port/limits.js';
import type { AskReply, AskRequest, WallClockMs } from '../../port/lock-store.js';
import type { Call } from '../protocol/requests.js';
import type { TransactionParts } from './transaction-parts.js';
import type { Entry } from './entry.js';
import type { LockRange } from './key-names.js';
import type { KnownShares } from './known-shares.js';
import { ownName, type LockContext } from './lock-context.js';
import type { OwnEntries } from './own-entries.js';
import type { OwnEntry } from './own-entry.js';
import { TOKENS_PER_REVISION } from './token-base.js';

/** Grants by the transaction that puts entries, of which it is known that they hold the lock. */
export class ImmediateGrants {
  constructor(
    private readonly context: LockContext,
    private readonly ownEntries: OwnEntries,
    private readonly parts: TransactionParts,
    private readonly shares: KnownShares,
  ) {}

  /**
   * All of a lock that is free, as most are: what to do if it is not is said only then, since it takes etcd and us more time than
   * all the rest. Undefined if it could not be had.
   */
  async takeFree(lock: LockRange, request: AskRequest): Promise<AskReply | undefined> {
    const { client, leases, names, transactions } = this.context;
    const lease = leases.at(request.lease) ?? (await leases.for(request.lease));
    const since = Date.now() as WallClockMs;
    const own = names.entry(lock, request.limit, request.owner);
    const { revision, reply } = await transactions.run([request.key], {
      do: 'txn',
      if: this.parts.freeConditions(lock, request),
      then: [this.parts.put(lock, request, lease, since)],
      else: [
        { do: 'range', key: lock.start, end: lock.end, countOnly: true },
        // Of an earlier request whose answer was lost.
        { do: 'range', key: own, countOnly: true },
      ],
    });
    if (reply.succeeded) return this.granted(lock, [request], [lease], revision, since, [])[0];
    const [all, mine] = reply.replies.map((one) => (one.do === 'range' ? one.count : 0));
    if ((all ?? 0) > (mine ?? 0)) client.heldByOthers(request.owner, undefined);
    return undefined;
  }

  /**
   * Shares of what this session has a share of already: what it knows of the lock is put to the test by the transaction, so
   * that many who come at once don't have all of it told to each. Answers the first of the requests, as many as could be
   * had like that; one that is not among them may still be had in another way.
   */
  async takeShares(lock: LockRange, requests: readonly AskRequest[]): Promise<readonly AskReply[]> {
    const known = this.shares.take(lock.key);
    if (known === undefined) return [];
    const fitting = this.fitting(requests, known.entries);
    if (fitting.length === 0) return [];
    const { transactions, leases, base } = this.context;
    const since = Date.now() as WallClockMs;
    const block = blockOf(fitting);
    const puts: Call[] = [];
    const leaseIds: number[] = [];
    for (const [index, request] of fitting.entries()) {
      const lease = leases.at(request.lease) ?? (await leases.for(request.lease));
      leaseIds.push(lease);
      puts.push(this.parts.put(lock, request, lease, since, index * block));
    }
    const { revision, reply } = await transactions.run([lock.key], {
      do: 'txn',
      if: [
        // That somebody has left is no matter.
        { key: lock.start, end: lock.end, modified: known.revision, orBefore: true },
        base.condition,
        ...fitting.map((request) => this.parts.notCancelled(request)),
      ],
      then: puts,
      else: [],
    });
    return reply.succeeded ? this.granted(lock, fitting, leaseIds, revision, since, known.entries) : [];
  }

  /** Entries of these owners were put at that revision, and hold the lock beside those that were there. */
  granted(
    lock: LockRange,
    requests: readonly AskRequest[],
    leaseIds: readonly number[],
    revision: number,
    since: WallClockMs,
    before: readonly Entry[],
  ): AskReply[] {
    const { ownEntries } = this;
    const block = blockOf(requests);
    const granted = requests.map((request, index) => {
      const own = ownEntries.add(lock, request, revision, revision, leaseIds[index] ?? 0);
      own.since = since;
      own.isKept = this.parts.isKept(request);
      own.offset = index * block;
      ownEntries.granted(own, revision, request.lease);
      return { own, request };
    });
    const [first] = requests;
    if (first !== undefined && first.limit !== 1) {
      const entries = granted.map(({ own, request }) => entryOf(own, request.lease));
      this.shares.add(lock.key, [...before, ...entries], revision);
    }
    return granted.map(({ own, request }) => {
      const tokens = Math.min(request.tokens, block);
      return { outcome: 'granted', ...ownEntries.grantOf(own, tokens, false) };
    });
  }

  /** The first of them for whom there is room, each of another owner who has not asked before. */
  private fitting(requests: readonly AskRequest[], entries: readonly Entry[]): AskRequest[] {
    const owners = new Set<string>(entries.map(({ owner }) => owner));
    const fitting: AskRequest[] = [];
    for (const request of requests) {
      const { key, owner, limit } = request;
      const isNew = !owners.has(owner) && !this.context.own.has(ownName(key, owner));
      if (!isNew || fitting.length >= roomBehind(entries, limit)) break;
      owners.add(owner);
      fitting.push(request);
    }
    return fitting;
  }
}

/** How many tokens of a revision each of so many has that are granted together. */
function blockOf(requests: readonly AskRequest[]): number {
  return Math.floor(TOKENS_PER_REVISION / Math.max(1, requests.length));
}

function entryOf(own: OwnEntry, lease: number): Entry {
  const { key, name, owner, created, modified, leaseId, isKept } = own;
  return { ...own.valueFor(true, lease, isKept), key, name, owner, created, modified, leaseId };
}
