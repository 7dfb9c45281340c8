import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type WallClockMs,
} from '../../port/lock-store.js';
import { foundIn, transactionIn, type Transaction } from '../connection/protocol.js';
import type { LockContext } from './context.js';
import { endOf, writtenEntry, type Entry, type LockRange } from './entries.js';
import { MOST_TRIES, type Grants } from './grants.js';
import { rangeOf, type LockState } from './lock-reader.js';
import type { OwnEntry } from './own-entries.js';

export class Acquirer {
  constructor(
    private readonly context: LockContext,
    private readonly grants: Grants,
  ) {}

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const known = this.context.own.get(request.key, request.owner);
    return await this.context.acquires.track(request, known === undefined, () =>
      this.acquireInTurn(request, known),
    );
  }

  private acquireInTurn(request: AcquireRequest, known: OwnEntry | undefined): Promise<AcquireReply> {
    // Waiting for its turn must not look like a missed poll.
    if (known !== undefined && !known.isHeld) this.context.own.polled(known);
    return this.context.turns.run(request.key, () => this.acquireNow(request));
  }

  private async acquireNow(request: AcquireRequest): Promise<AcquireReply> {
    const { key, owner } = request;
    const lock = this.context.names.lock(key);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const entry = this.context.own.get(key, owner);
      const reply =
        entry === undefined ? await this.acquireNew(lock, request) : await this.resume(lock, entry, request);
      if (reply !== undefined) return reply;
    }
    throw tooBusy();
  }

  /** For an owner without an entry. Undefined: try again. */
  private async acquireNew(lock: LockRange, request: AcquireRequest): Promise<AcquireReply | undefined> {
    if (!request.wait) return await this.takeNow(lock, request);
    const mayBeFree = request.limit === 1 && !request.contended;
    const free = mayBeFree ? await this.grants.takeFree(lock, request) : undefined;
    return free ?? (await this.takeOrQueue(lock, request));
  }

  /** Acquires the lock, or else queues. Undefined: try again. */
  private async takeOrQueue(lock: LockRange, request: AcquireRequest): Promise<AcquireReply | undefined> {
    const { context, grants } = this;
    const { names, transactions, client } = context;
    const { key, limit, owner, lease, claimLease } = request;
    // Starts the watch, so that it probably runs before the reply.
    this.context.waited.at(lock);
    const leaseId = await context.leases.for(lease);
    const waiterLeaseId = await context.leases.for(claimLease);
    const since = Date.now() as WallClockMs;
    const sentAt = client.now();
    const kind = names.kind(lock, limit);
    const queue: Transaction = {
      do: 'txn',
      if: [
        // No entry of another kind, before or behind this kind's range.
        { key: lock.start, end: kind, created: 0 },
        { key: endOf(kind), end: lock.end, created: 0 },
        { key: names.entry(lock, limit, owner), created: 0 },
        grants.notCancelled(request),
        context.base.condition,
      ],
      then: [grants.put(lock, request, waiterLeaseId, undefined), rangeOf(lock)],
      else: grants.whyNot(request),
    };
    const asked = transactions.run(key, {
      do: 'txn',
      if: grants.freeConditions(lock, request),
      then: [grants.put(lock, request, leaseId, since)],
      else: [queue],
    });
    this.context.acquires.sent(request);
    const { revision, reply } = await asked;
    if (reply.succeeded) return grants.granted(lock, request, leaseId, revision, since);
    const { succeeded, replies } = transactionIn(reply.replies[0]);
    if (succeeded) {
      const entry = this.context.own.add(lock, request, revision, revision, waiterLeaseId);
      const state = this.context.reader.stateOf(lock, foundIn(replies[1]), revision, sentAt);
      return await this.standing(entry, request, state);
    }
    const refusal = await grants.refusal(key, replies, revision, sentAt);
    if (refusal === 'cancelled') return { outcome: 'cancelled' };
    return this.refused(lock, request, refusal);
  }

  /** Acquires the lock only if it has room. Undefined: try again. */
  private async takeNow(lock: LockRange, request: AcquireRequest): Promise<AcquireReply | undefined> {
    const { grants } = this;
    const { reader } = this.context;
    const { contended, key, owner } = request;
    // A read costs etcd far less than a failed attempt.
    let state: LockState | undefined = contended ? await reader.read(lock) : undefined;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      if (state === undefined || (state.hasRoom(request) && state.entryOf(owner) === undefined)) {
        const attempt = await grants.attempt(request, state);
        if (attempt === 'cancelled') return { outcome: 'cancelled' };
        if ('outcome' in attempt) return attempt;
        state = attempt;
      } else {
        const refused = this.refused(lock, request, state);
        if (refused !== undefined) return refused;
        if (this.context.own.get(key, owner) !== undefined) return undefined;
        state = await reader.read(lock);
      }
    }
    throw tooBusy();
  }

  /** Why no entry was put. Undefined: try again. */
  private refused(
    lock: LockRange,
    request: AcquireRequest,
    state: LockState | undefined,
  ): AcquireReply | undefined {
    const { limit, owner, wait } = request;
    const mine = state?.entryOf(owner);
    if (mine !== undefined) {
      // An earlier request was carried out, but its reply was lost.
      const entry = this.context.own.add(lock, request, mine.created, mine.modified, mine.leaseId);
      entry.since = mine.since;
      entry.token = this.context.reader.tokenOf(mine);
      return undefined;
    }
    if (state === undefined) return undefined;
    const conflict = state.conflictWith(limit);
    if (conflict !== undefined) return { outcome: 'conflict', limit: conflict };
    if (wait || state.hasRoom(request)) return undefined;
    return { outcome: 'busy', holderLeaseLeft: this.context.reader.holderLeaseLeft(state, request) };
  }

  /** For an owner that holds the lock or waits for it. Undefined if its entry is gone. */
  private async resume(
    lock: LockRange,
    entry: OwnEntry,
    request: AcquireRequest,
  ): Promise<AcquireReply | undefined> {
    const { own: ownEntries } = this.context;
    Object.assign(entry, { tokens: request.tokens, claimLease: request.claimLease });
    if (ownEntries.hasExpired(entry)) {
      await ownEntries.delete(entry);
      return undefined;
    }
    if (entry.isHeld) return await this.claim(entry, request);
    const state = await this.context.reader.read(lock);
    const stored = state.entries.find(({ name }) => name === entry.name);
    if (stored?.created !== entry.created) {
      this.forget(entry);
      return undefined;
    }
    const reply = await this.standing(entry, request, state);
    if (reply?.outcome === 'queued') await this.rewrite(entry, stored, request);
    return reply;
  }

  /** The reply for an owner whose entry exists. Undefined if it is gone by now. */
  private async standing(
    entry: OwnEntry,
    request: AcquireRequest,
    state: LockState,
  ): Promise<AcquireReply | undefined> {
    if (state.holders.some(({ name }) => name === entry.name)) return await this.claim(entry, request);
    this.context.waited.at(entry.lock).add(entry, state);
    this.context.own.polled(entry);
    const holderLeaseLeft = this.context.reader.holderLeaseLeft(state, request);
    return { outcome: request.wait ? 'queued' : 'busy', holderLeaseLeft };
  }

  /** Updates what other processes see of a waiter. */
  private async rewrite(entry: OwnEntry, stored: Entry, request: AcquireRequest): Promise<void> {
    const { callers, label, claimLease } = request;
    const isUpToDate = stored.callers === callers && stored.label === label && stored.lease === claimLease;
    if (isUpToDate && this.context.leases.isCurrent(stored.leaseId)) return;
    Object.assign(entry, { callers, label });
    const lease = await this.context.leases.for(claimLease);
    const value = writtenEntry(entry.valueFor(false, claimLease));
    const { revision, reply } = await this.context.transactions.run(entry.key, {
      do: 'txn',
      if: [{ key: entry.name, modified: stored.modified }],
      then: [{ do: 'put', key: entry.name, value, lease }],
    });
    if (reply.succeeded) Object.assign(entry, { modified: revision, leaseId: lease });
  }

  /** Writes that the owner holds the lock, with the lease of the request. Undefined if its entry is gone. */
  private async claim(entry: OwnEntry, request: AcquireRequest): Promise<AcquireReply | undefined> {
    const { own: ownEntries } = this.context;
    const { lease, isRenewed = false, tokens } = request;
    const wasHeld = entry.isHeld;
    entry.since ??= Date.now() as WallClockMs;
    entry.isUnclaimed ||= !wasHeld;
    const written = await ownEntries.write(entry, { lease, isRenewed, looks: true });
    if (written.isGone) {
      this.forget(entry);
      return undefined;
    }
    this.context.waited.remove(entry);
    // A repeated grant has one token: the others may be in use.
    const isNew = entry.token === undefined;
    if (!wasHeld) ownEntries.granted(entry, written.state.revision, lease);
    const othersWait = written.state.othersWait(this.context.client.id);
    return { outcome: 'granted', ...ownEntries.grantOf(entry, isNew ? tokens : 1, othersWait) };
  }

  private forget(entry: OwnEntry): void {
    this.context.waited.remove(entry);
    this.context.own.drop(entry);
  }
}

function tooBusy(): LockStoreError {
  return new LockStoreError('other clients came first again and again', { inDoubt: false, retryable: true });
}
