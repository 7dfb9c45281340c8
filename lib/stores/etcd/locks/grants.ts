import { roomBehind } from '../../port/limits.js';
import type { AcquireReply, AcquireRequest, MonotonicMs, WallClockMs } from '../../port/lock-store.js';
import { foundIn, type Call, type Condition, type PutCall, type Reply } from '../protocol.js';
import type { LockContext } from './context.js';
import { writtenEntry, type Entry, type LockRange } from './entries.js';
import { rangeOf, type LockState } from './lock-reader.js';
import type { OwnEntry } from './own-entries.js';
import { TOKENS_PER_REVISION } from './token-base.js';

/**
 * How often a request is repeated after another client has changed the lock. Whenever an attempt fails, that client's
 * succeeded.
 */
export const MOST_TRIES = 10;
const MOST_SHARED = 100;

type GrantedReply = Extract<AcquireReply, { readonly outcome: 'granted' }>;

/** The state of a lock of which a transaction put no entry, or that the request is a late one of a withdrawn owner. */
type Refusal = LockState | 'cancelled';

/** A request whose entry is put on this etcd lease. */
interface Put {
  readonly request: AcquireRequest;
  readonly leaseId: number;
}

/** The transactions that acquire locks. */
export class Grants {
  constructor(private readonly context: LockContext) {}

  /** The conditions on which a free lock is granted in one step. */
  freeConditions(lock: LockRange, request: AcquireRequest): Condition[] {
    return [noNewEntry(lock), this.notCancelled(request), this.context.base.condition];
  }

  /** Requires that the request is not a late one of a withdrawn owner. */
  notCancelled({ key, owner }: AcquireRequest): Condition {
    return { key: this.context.names.tombstone(key, owner), created: 0 };
  }

  /** @param since when it was granted; undefined for a waiter */
  put(
    lock: LockRange,
    request: AcquireRequest,
    lease: number,
    since: WallClockMs | undefined,
    offset = 0,
  ): PutCall {
    const { limit, permits, owner, callers, label } = request;
    const isHeld = since !== undefined;
    const value = writtenEntry({
      isHeld,
      limit,
      permits,
      lease: isHeld ? request.lease : request.claimLease,
      isKept: isHeld && this.isKept(request),
      callers,
      token: undefined,
      offset,
      since,
      label,
    });
    return { do: 'put', key: this.context.names.entry(lock, limit, owner), value, lease };
  }

  /** The operations that find out why no entry was put; see {@link refusal}. */
  whyNot({ key, owner }: AcquireRequest): Call[] {
    const { names, base } = this.context;
    return [rangeOf(names.lock(key)), countOf(names.tombstone(key, owner)), base.range];
  }

  /** @param replies to {@link whyNot} */
  async refusal(
    key: string,
    [entries, tombstone, fence]: readonly Reply[],
    revision: number,
    sentAt: MonotonicMs,
  ): Promise<Refusal> {
    const { names, base, reader } = this.context;
    if (!base.learn(foundIn(fence))) await base.create();
    if (countIn(tombstone) > 0) return 'cancelled';
    return reader.stateOf(names.lock(key), foundIn(entries), revision, sentAt);
  }

  /**
   * Tries to acquire an exclusive lock that is probably free. This transaction has no alternative operations: they
   * would cost more time, here and in etcd, than everything else in it. Undefined if the lock was not granted.
   */
  async takeFree(lock: LockRange, request: AcquireRequest): Promise<AcquireReply | undefined> {
    const { client, leases, names, transactions } = this.context;
    const leaseId = leases.at(request.lease) ?? (await leases.for(request.lease));
    const since = Date.now() as WallClockMs;
    const { revision, reply } = await transactions.run(request.key, {
      do: 'txn',
      if: this.freeConditions(lock, request),
      then: [this.put(lock, request, leaseId, since)],
      // The owner's own entry may come from an earlier request whose reply was lost.
      else: [countOf(lock.start, lock.end), countOf(names.entry(lock, request.limit, request.owner))],
    });
    if (reply.succeeded) return this.granted(lock, [{ request, leaseId }], revision, since)[0];
    if (countIn(reply.replies[0]) > countIn(reply.replies[1])) client.heldByOthers(request.owner, undefined);
    return undefined;
  }

  /**
   * Grants read locks or permits of a lock on which the session was granted one before, if no client has queued since.
   * The transaction returns no entries, which would cost many concurrent callers much time.
   *
   * @returns replies to the first requests; the others may still be granted in another way
   */
  async takeShared(lock: LockRange, requests: readonly AcquireRequest[]): Promise<readonly AcquireReply[]> {
    const { transactions, leases, base, shared } = this.context;
    const known = shared.get(lock.key);
    if (known === undefined) return [];
    shared.delete(lock.key);
    const puts: Put[] = [];
    for (const request of this.fitting(requests, known.entries))
      puts.push({ request, leaseId: leases.at(request.lease) ?? (await leases.for(request.lease)) });
    if (puts.length === 0) return [];
    const since = Date.now() as WallClockMs;
    const block = blockOf(puts);
    const { revision, reply } = await transactions.run(lock.key, {
      do: 'txn',
      if: [noNewEntry(lock, known), base.condition, ...puts.map(({ request }) => this.notCancelled(request))],
      then: puts.map(({ request, leaseId }, index) => this.put(lock, request, leaseId, since, index * block)),
    });
    return reply.succeeded ? this.granted(lock, puts, revision, since, known.entries) : [];
  }

  /** @param state the known state of the lock; undefined if it is expected to be free */
  async attempt(request: AcquireRequest, state: LockState | undefined): Promise<GrantedReply | Refusal> {
    const { names, base, client, transactions, leases } = this.context;
    const { key, lease } = request;
    const lock = names.lock(key);
    const leaseId = leases.at(lease) ?? (await leases.for(lease));
    const since = Date.now() as WallClockMs;
    const sentAt = client.now();
    const { revision, reply } = await transactions.run(key, {
      do: 'txn',
      if: [base.condition, noNewEntry(lock, state), this.notCancelled(request)],
      then: [this.put(lock, request, leaseId, since)],
      else: this.whyNot(request),
    });
    if (!reply.succeeded) return await this.refusal(key, reply.replies, revision, sentAt);
    return this.granted(lock, [{ request, leaseId }], revision, since, state?.entries)[0] ?? 'cancelled';
  }

  /**
   * Records that these owners hold the lock by the transaction at this revision.
   *
   * @param before the entries that existed before
   */
  granted(
    lock: LockRange,
    puts: readonly Put[],
    revision: number,
    since: WallClockMs,
    before: readonly Entry[] = [],
  ): GrantedReply[] {
    const { own: ownEntries } = this.context;
    const block = blockOf(puts);
    const granted = puts.map(({ request, leaseId }, index) => {
      const own = ownEntries.add(lock, request, revision, revision, leaseId);
      own.since = since;
      own.isKept = this.isKept(request);
      own.offset = index * block;
      ownEntries.granted(own, revision, request.lease);
      return { own, request };
    });
    if (puts[0]?.request.limit !== 1) {
      const entries = granted.map(({ own, request }) => entryOf(own, request.lease));
      this.remember(lock.key, [...before, ...entries], revision);
    }
    return granted.map(({ own, request }) => {
      const tokens = Math.min(request.tokens, block);
      return { outcome: 'granted', ...ownEntries.grantOf(own, tokens, false) };
    });
  }

  private isKept({ lease, isRenewed = false }: AcquireRequest): boolean {
    return isRenewed && lease <= this.context.client.watchdogTimeout;
  }

  /** The first requests for which there is room; only those of owners without an entry. */
  private fitting(requests: readonly AcquireRequest[], entries: readonly Entry[]): AcquireRequest[] {
    const owners = new Set<string>(entries.map(({ owner }) => owner));
    const fitting: AcquireRequest[] = [];
    let taken = 0;
    for (const request of requests) {
      const { key, owner, limit, permits } = request;
      const isNew = !owners.has(owner) && this.context.own.get(key, owner) === undefined;
      if (!isNew || taken + permits > roomBehind(entries, limit)) break;
      taken += permits;
      owners.add(owner);
      fitting.push(request);
    }
    return fitting;
  }

  private remember(key: string, entries: readonly Entry[], revision: number): void {
    const { shared } = this.context;
    shared.delete(key);
    shared.set(key, { entries, revision });
    const [oldest] = shared.keys();
    if (shared.size > MOST_SHARED && oldest !== undefined) shared.delete(oldest);
  }
}

/** Requires that the lock is free, or that no entry has been put since it was read. Entries deleted since don't matter. */
function noNewEntry({ start, end }: LockRange, known?: Pick<LockState, 'entries' | 'revision'>): Condition {
  return known === undefined || known.entries.length === 0
    ? { key: start, end, created: 0 }
    : { key: start, end, modified: known.revision, orBefore: true };
}

function countOf(key: string, end?: string): Call {
  return { do: 'range', key, end, countOnly: true };
}

function countIn(reply: Reply | undefined): number {
  return reply?.do === 'range' ? reply.count : 0;
}

/** How many tokens each request gets, where several are granted at one revision. */
function blockOf({ length }: readonly Put[]): number {
  return Math.floor(TOKENS_PER_REVISION / length);
}

function entryOf(own: OwnEntry, lease: number): Entry {
  const { key, name, owner, created, modified, leaseId, isKept } = own;
  const value = own.valueFor(true, lease, isKept);
  return { ...value, key, name, owner, created, modified, leaseId };
}
