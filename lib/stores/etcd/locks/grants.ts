import type { AcquireReply, AcquireRequest, MonotonicMs, WallClockMs } from '../../port/lock-store.js';
import { foundIn, type Call, type Condition, type PutCall, type Reply } from '../connection/protocol.js';
import type { LockContext } from './context.js';
import { writtenEntry, type LockRange } from './entries.js';
import { rangeOf, type LockState } from './lock-reader.js';
import { TOKENS_PER_REVISION } from './token-base.js';

/**
 * How often a request is repeated after another client has changed the lock. Whenever an attempt fails, that client's
 * succeeded.
 */
export const MOST_TRIES = 10;

type GrantedReply = Extract<AcquireReply, { readonly outcome: 'granted' }>;

/** The state of a lock of which a transaction put no entry, or that the request is a late one of a withdrawn owner. */
type Refusal = LockState | 'cancelled';

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
  put(lock: LockRange, request: AcquireRequest, lease: number, since: WallClockMs | undefined): PutCall {
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
    if (reply.succeeded) return this.granted(lock, request, leaseId, revision, since);
    if (countIn(reply.replies[0]) > countIn(reply.replies[1])) client.heldByOthers(request.owner, undefined);
    return undefined;
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
    return this.granted(lock, request, leaseId, revision, since);
  }

  /** Records that the owner holds the lock by the transaction at this revision. */
  granted(
    lock: LockRange,
    request: AcquireRequest,
    leaseId: number,
    revision: number,
    since: WallClockMs,
  ): GrantedReply {
    const { own } = this.context;
    const entry = own.add(lock, request, revision, revision, leaseId);
    entry.since = since;
    entry.isKept = this.isKept(request);
    own.granted(entry, revision, request.lease);
    const tokens = Math.min(request.tokens, TOKENS_PER_REVISION);
    return { outcome: 'granted', ...own.grantOf(entry, tokens, false) };
  }

  private isKept({ lease, isRenewed = false }: AcquireRequest): boolean {
    return isRenewed && lease <= this.context.client.watchdogTimeout;
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
