import { limitsAgree } from '../../port/limits.js';
import { LockStoreError, type AskReply, type AskRequest, type WallClockMs } from '../../port/lock-store.js';
import type { Condition, Transaction } from '../protocol/requests.js';
import type { TransactionParts, Attempt } from './transaction-parts.js';
import { hasRoom, holdersIn, writtenEntry, type Entry } from './entry.js';
import type { ImmediateGrants } from './immediate-grants.js';
import { BatchedCalls, settle, type BatchedCall } from './batched-calls.js';
import type { LockRange } from './key-names.js';
import type { LockContext } from './lock-context.js';
import { rangeOf, type LockReader, type LockState } from './lock-reader.js';
import { isRefused, type OwnEntries } from './own-entries.js';
import type { OwnEntry } from './own-entry.js';
import type { PendingAsks } from './pending-asks.js';
import type { WaitedLocks } from './waited-locks.js';

/** How often a request is tried anew after another client has come between. Each try that fails is one that succeeded there. */
const MOST_TRIES = 10;
/** Shares in one transaction: etcd allows 128 conditions by default, those of what it is part of counted, too. */
const MOST_SHARES = 60;

/** Asks for locks, one at a time for each key, or several shares at once. */
export class LockAcquirer {
  private readonly sharesTogether: BatchedCalls<AskRequest, AskReply>;

  constructor(
    private readonly context: LockContext,
    private readonly reader: LockReader,
    private readonly ownEntries: OwnEntries,
    private readonly waited: WaitedLocks,
    private readonly parts: TransactionParts,
    private readonly grants: ImmediateGrants,
    private readonly pending: PendingAsks,
  ) {
    this.sharesTogether = new BatchedCalls(context.turns, MOST_SHARES, this.askTogether);
  }

  async ask(request: AskRequest): Promise<AskReply> {
    const known = this.ownEntries.get(request.key, request.owner);
    return await this.pending.track(request, known === undefined, () => this.askInTurn(request, known));
  }

  private askInTurn(request: AskRequest, known: OwnEntry | undefined): Promise<AskReply> {
    const { client, turns } = this.context;
    const { key, limit } = request;
    // A place is not silent while it waits for its turn to ask.
    if (known !== undefined && !known.isHeld) this.ownEntries.heardOf(known, client.now());
    if (known === undefined && limit !== 1) return this.sharesTogether.call(key, limit, request);
    return turns.run(key, () => this.askNow(request));
  }

  /** For new owners of shares with the same limit: all that can be had at once, and then each of the others. */
  private readonly askTogether = async (
    key: string,
    calls: readonly BatchedCall<AskRequest, AskReply>[],
  ): Promise<void> => {
    const lock = this.context.names.lock(key);
    for (let rest = calls; rest.length > 0;) {
      const requests = rest.map(({ request }) => request);
      const replies = rest.length > 1 ? await this.grants.takeShares(lock, requests) : [];
      for (const [index, reply] of replies.entries()) rest[index]?.resolve(reply);
      rest = rest.slice(replies.length);
      const [next] = rest;
      if (next === undefined) return;
      // By this one it is known how the lock is.
      await settle(next, this.askNow(next.request));
      rest = rest.slice(1);
    }
  };

  private async askNow(request: AskRequest): Promise<AskReply> {
    const { key, owner } = request;
    const lock = this.context.names.lock(key);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const entry = this.ownEntries.get(key, owner);
      const reply =
        entry === undefined ? await this.askAnew(lock, request) : await this.askAgain(lock, entry, request);
      if (reply !== undefined) return reply;
    }
    throw tooBusy();
  }

  private async askAnew(lock: LockRange, request: AskRequest): Promise<AskReply | undefined> {
    const [share] = await this.grants.takeShares(lock, [request]);
    if (share !== undefined) return share;
    if (!request.wait) return await this.takeNow(lock, request);
    const mayBeFree = request.limit === 1 && !request.contended;
    const free = mayBeFree ? await this.grants.takeFree(lock, request) : undefined;
    return free ?? (await this.takePlace(lock, request));
  }

  /** With a place in the queue, if it can't be had at once. Undefined if it has to be asked for anew. */
  private async takePlace(lock: LockRange, request: AskRequest): Promise<AskReply | undefined> {
    const { context, ownEntries } = this;
    const { lease, claimLease } = request;
    // The watch is there before the answer, then.
    this.waited.at(lock);
    const [held, waiting] = [await this.leaseId(lease), await this.leaseId(claimLease)];
    const since = Date.now() as WallClockMs;
    const sentAt = context.client.now();
    const place: Transaction = {
      do: 'txn',
      if: [
        ...this.parts.noOtherKind(lock, request),
        this.parts.absent(lock, request),
        ...this.parts.ownConditions(request),
      ],
      then: [this.parts.put(lock, request, waiting, undefined), rangeOf(lock)],
      else: this.parts.whyNot(lock, request),
    };
    const asked = context.transactions.run([request.key], {
      do: 'txn',
      if: this.parts.freeConditions(lock, request),
      then: [this.parts.put(lock, request, held, since)],
      else: [place],
    });
    this.pending.goesOut(request);
    const { revision, reply } = await asked;
    if (reply.succeeded) return this.grants.granted(lock, [request], [held], revision, since, [])[0];
    const attempt = await this.parts.attemptOf(lock, reply.replies[0], revision, sentAt);
    if (!attempt.wasPut) return await this.refused(lock, request, attempt);
    return await this.stand(ownEntries.add(lock, request, revision, revision, waiting), request, attempt);
  }

  /** The owner has an entry, and that is what is there. */
  private async stand(entry: OwnEntry, request: AskRequest, state: LockState): Promise<AskReply | undefined> {
    const { entries } = state;
    const isHolder = holdersIn(entries).some(({ name }) => name === entry.name);
    if (isHolder) return await this.claim(entry, request);
    const waited = this.waited.at(entry.lock);
    waited.stand(entry, state);
    this.ownEntries.heardOf(entry, this.context.client.now());
    const holderLeaseLeft = this.reader.holderLeaseLeft(entries, request.limit);
    return { outcome: request.wait ? 'queued' : 'busy', holderLeaseLeft };
  }

  /** Without a place: only if it can be had at once. Undefined if it has to be asked for anew. */
  private async takeNow(lock: LockRange, request: AskRequest): Promise<AskReply | undefined> {
    const { context } = this;
    const { contended, limit, lease } = request;
    const leaseId = await this.leaseId(lease);
    // To look costs etcd far less than to try.
    let state: LockState | undefined = contended ? await this.reader.read(lock) : undefined;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const entries = state?.entries ?? [];
      const isMine = entries.some(({ owner }) => owner === request.owner);
      if (!isMine && hasRoom(entries, limit)) {
        const since = Date.now() as WallClockMs;
        const sentAt = context.client.now();
        const unchanged: Condition[] =
          state === undefined || entries.length === 0
            ? this.parts.freeConditions(lock, request)
            : [
                { key: lock.start, end: lock.end, modified: state.revision, orBefore: true },
                // That nobody has left is no matter.
                ...this.parts.ownConditions(request),
              ];
        const { revision, reply } = await context.transactions.run([request.key], {
          do: 'txn',
          if: unchanged,
          then: [this.parts.put(lock, request, leaseId, since)],
          else: this.parts.whyNot(lock, request),
        });
        if (reply.succeeded)
          return this.grants.granted(lock, [request], [leaseId], revision, since, entries)[0];
        const attempt = await this.parts.attemptOf(lock, reply, revision, sentAt);
        if (attempt.isCancelled) return { outcome: 'cancelled' };
        state = attempt;
      } else if (state !== undefined) {
        const refused = await this.refused(lock, request, { ...state, wasPut: false, isCancelled: false });
        if (refused !== undefined) return refused;
        if (this.ownEntries.get(request.key, request.owner) !== undefined) return undefined;
        state = await this.reader.read(lock);
      }
    }
    throw tooBusy();
  }

  /** Why no entry was put. Undefined if it is to be tried anew. */
  private async refused(
    lock: LockRange,
    request: AskRequest,
    { entries, isCancelled }: Attempt,
  ): Promise<AskReply | undefined> {
    const { limit, owner, wait } = request;
    if (isCancelled) return { outcome: 'cancelled' };
    const mine = entries.find((entry) => entry.owner === owner);
    if (mine !== undefined) {
      // An earlier request got through whose answer did not.
      const entry = this.ownEntries.add(lock, request, mine.created, mine.modified, mine.leaseId);
      entry.since = mine.since;
      entry.token = this.reader.tokenOf(mine);
      return undefined;
    }
    if (await this.reader.endOverdue(lock, entries)) return undefined;
    const [first] = entries;
    if (first === undefined) return undefined;
    if (!limitsAgree(first.limit, limit)) return { outcome: 'conflict', limit: first.limit };
    if (wait || hasRoom(entries, limit)) return undefined;
    return { outcome: 'busy', holderLeaseLeft: this.reader.holderLeaseLeft(entries, limit) };
  }

  /** For an owner that holds the lock, or waits for it. Undefined if it is not there any more. */
  private async askAgain(
    lock: LockRange,
    entry: OwnEntry,
    request: AskRequest,
  ): Promise<AskReply | undefined> {
    const { ownEntries } = this;
    Object.assign(entry, { tokens: request.tokens, claimLease: request.claimLease });
    if (ownEntries.isOver(entry)) {
      await ownEntries.delete(entry);
      return undefined;
    }
    if (entry.isHeld) return await this.claim(entry, request);
    const state = await this.reader.readLiving(lock);
    const stored = state.entries.find(({ name }) => name === entry.name);
    if (stored?.created !== entry.created) {
      this.leave(entry);
      return undefined;
    }
    const reply = await this.stand(entry, request, state);
    if (reply?.outcome === 'queued') await this.rewrite(entry, stored, request);
    return reply;
  }

  /** What others see of a place is to be true. */
  private async rewrite(entry: OwnEntry, stored: Entry, request: AskRequest): Promise<void> {
    const { callers, label, claimLease } = request;
    const isTrue = stored.callers === callers && stored.label === label && stored.lease === claimLease;
    if (isTrue && this.context.leases.isCurrent(stored.leaseId)) return;
    Object.assign(entry, { callers, label });
    const lease = await this.leaseId(claimLease);
    const value = writtenEntry(entry.valueFor(false, claimLease));
    const { revision, reply } = await this.context.transactions.run([entry.key], {
      do: 'txn',
      if: [{ key: entry.name, modified: stored.modified }],
      then: [{ do: 'put', key: entry.name, value, lease }],
      else: [],
    });
    if (reply.succeeded) Object.assign(entry, { modified: revision, leaseId: lease });
  }

  /** It holds the lock: it says so, with the lease that is asked for. Undefined if it does not hold it any more. */
  private async claim(entry: OwnEntry, request: AskRequest): Promise<AskReply | undefined> {
    const { ownEntries } = this;
    const wasHeld = entry.isHeld;
    entry.since ??= Date.now() as WallClockMs;
    entry.isUnclaimed ||= !wasHeld;
    const written = await ownEntries.write(entry, { ...wishOf(request), looks: true });
    if (isRefused(written)) {
      this.leave(entry);
      return undefined;
    }
    this.waited.forget(entry);
    const isNew = entry.token === undefined;
    if (!wasHeld) ownEntries.granted(entry, written.revision, request.lease);
    // Tokens that were reserved with the grant are not told again: they may be in use.
    return this.granted(entry, request, written.revision, this.reader.othersWait(written.entries), isNew);
  }

  private granted(
    entry: OwnEntry,
    { tokens, lease }: AskRequest,
    revision: number,
    othersWait: boolean,
    isNew = true,
  ): AskReply {
    if (!entry.isHeld) this.ownEntries.granted(entry, revision, lease);
    return { outcome: 'granted', ...this.ownEntries.grantOf(entry, isNew ? tokens : 1, othersWait) };
  }

  private leave(entry: OwnEntry): void {
    this.waited.forget(entry);
    this.ownEntries.drop(entry);
  }

  private async leaseId(ms: number): Promise<number> {
    const { leases } = this.context;
    return leases.at(ms) ?? (await leases.for(ms));
  }
}

function wishOf({ lease, isRenewed = false }: AskRequest): {
  readonly lease: number;
  readonly isRenewed: boolean;
} {
  return { lease, isRenewed };
}

function tooBusy(): LockStoreError {
  return new LockStoreError('others came first again and again', { inDoubt: false, retryable: true });
}
