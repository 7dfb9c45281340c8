import { foundIn } from '../protocol/replies.js';
import { later } from '../../../common/clock.js';
import type {
  AskRequest,
  Grant,
  MonotonicMs,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  WallClockMs,
} from '../../port/lock-store.js';
import { WAITER_TTL } from '../../port/times.js';
import { isOutOfSpace, notConnected } from '../connection/etcd-failure.js';
import type { Transaction } from '../protocol/requests.js';
import { holdersIn, writtenEntry, type Entry } from './entry.js';
import { EntryLookups } from './entry-lookups.js';
import type { LockRange } from './key-names.js';
import { ownName, type LockContext } from './lock-context.js';
import { rangeOf, type LockReader } from './lock-reader.js';
import { OwnEntry } from './own-entry.js';
import { TOKENS_PER_REVISION } from './token-base.js';

/** How long the claim of a pushed grant is held back, ms: many holds are over by then, and it is spared. */
const CLAIM_DELAY = 10;
/** How long to wait before something that is over is deleted after that has failed, ms. */
const DELETION_PAUSE = 500;

/** How a lease is to be written. */
interface WriteWish extends Pick<RenewRequest, 'lease' | 'exactly' | 'isRenewed'> {
  /** Whether to answer with all entries of the lock; not if left out. */
  readonly looks?: boolean;
}

/** A lease that was written. */
interface Written {
  readonly revision: number;
  readonly sentAt: MonotonicMs;
  /** All who hold the lock or wait for it, if that was asked for. */
  readonly entries: readonly Entry[];
}

/** Keeps the entries of this session's owners: grants them, renews them, and deletes them when they are over. */
export class OwnEntries {
  private readonly lookups: EntryLookups;

  constructor(
    private readonly context: LockContext,
    private readonly reader: LockReader,
  ) {
    this.lookups = new EntryLookups(context.connection);
  }

  get(key: string, owner: string): OwnEntry | undefined {
    return this.context.own.get(ownName(key, owner));
  }

  /** An entry was put, or found. */
  add(lock: LockRange, request: AskRequest, created: number, modified: number, leaseId: number): OwnEntry {
    const { names, own } = this.context;
    const name = names.entry(lock, request.limit, request.owner);
    const entry = new OwnEntry(lock, name, request, created, modified, leaseId, this.onDue);
    own.set(ownName(entry.key, entry.owner), entry);
    return entry;
  }

  /** It has asked, at that time. */
  heardOf(entry: OwnEntry, now: MonotonicMs): void {
    this.endAt(entry, later(now, WAITER_TTL));
  }

  /** It was granted the lock by what was written at that revision. */
  granted(entry: OwnEntry, revision: number, lease: number): void {
    const { base, client } = this.context;
    entry.isHeld = true;
    entry.token ??= base.at(revision) + entry.offset;
    this.endAt(entry, later(client.now(), lease));
  }

  grantOf(entry: OwnEntry, tokens: number, othersWait: boolean): Grant {
    const { token, since = Date.now() as WallClockMs } = entry;
    if (token === undefined) throw new Error('an entry was granted without a token');
    return { token, since, tokens: Math.min(tokens, TOKENS_PER_REVISION - 1), othersWait };
  }

  /** A push: it holds the lock by what was read at that revision, and has its claim lease from now on at the latest. */
  holdUnwritten(entry: OwnEntry, revision: number): void {
    entry.isUnwritten = entry.isUnclaimed = true;
    entry.since = Date.now() as WallClockMs;
    this.granted(entry, revision, entry.claimLease);
    this.context.timers.timers.after(CLAIM_DELAY, () => void this.settle(entry));
  }

  /** It is over, or was never there. */
  drop(entry: OwnEntry): void {
    const { own, timers } = this.context;
    const name = ownName(entry.key, entry.owner);
    if (own.get(name) === entry) own.delete(name);
    timers.timers.clear(entry);
    entry.claim?.resolve('gone');
    entry.claim = undefined;
  }

  isOver(entry: OwnEntry): boolean {
    return entry.isHeld && this.context.client.now() >= entry.endsAt;
  }

  async renew(request: RenewRequest): Promise<RenewReply> {
    const { key, owner, lease, exactly = false, isRenewed = false } = request;
    const entry = this.get(key, owner);
    if (entry?.isHeld !== true) return await this.renewUnknown(request);
    if (this.isOver(entry)) {
      await this.delete(entry);
      return await this.whyNot(key);
    }
    if (entry.isUnwritten && !exactly && entry.claim === undefined) {
      return await new Promise<RenewReply>((resolve, reject) => {
        entry.claim = { lease, isRenewed, resolve, reject };
      });
    }
    const { client } = this.context;
    const isLongEnough = entry.isKept
      ? lease <= client.watchdogTimeout
      : later(client.now(), lease) <= entry.endsAt;
    const isWritten = isLongEnough && isRenewed && !exactly && !entry.isUnwritten && !entry.isUnclaimed;
    if (isWritten) return await this.keep(entry, lease);
    const written = await this.write(entry, { lease, exactly, isRenewed });
    return isRefused(written) ? reasonIn(written) : 'renewed';
  }

  async reserve({ key, owner, tokens, ...request }: ReserveRequest): Promise<ReserveReply> {
    if (tokens >= TOKENS_PER_REVISION) {
      throw new RangeError(`fewer than ${String(TOKENS_PER_REVISION)} tokens at once`);
    }
    const entry = this.get(key, owner);
    if (entry?.isHeld !== true) return { outcome: await this.whyNot(key) };
    if (this.isOver(entry)) {
      await this.delete(entry);
      return { outcome: await this.whyNot(key) };
    }
    const written = await this.write(entry, { ...request, looks: true });
    if (isRefused(written)) return { outcome: reasonIn(written) };
    const token = this.context.base.at(written.revision);
    const othersWait = this.reader.othersWait(written.entries);
    return { outcome: 'reserved', token, othersWait };
  }

  /** Writes that an entry holds the lock, and a claim held back with it; a lease of 0 leaves the one that it has. Answers all entries if it is gone. */
  async write(entry: OwnEntry, wish: WriteWish): Promise<Written | readonly Entry[]> {
    const { claim } = entry;
    entry.claim = undefined;
    const { exactly = false, isRenewed = false } = wish;
    const lease = exactly ? wish.lease : Math.max(wish.lease, claim?.lease ?? 0);
    const merged = { ...wish, lease, isRenewed: isRenewed || claim?.isRenewed === true };
    const work = (): Promise<Written | readonly Entry[]> => this.writeNow(entry, merged);
    const running = entry.lastWrite === undefined ? work() : entry.lastWrite.then(work, work);
    entry.lastWrite = running;
    try {
      const written = await running;
      claim?.resolve(isRefused(written) ? reasonIn(written) : 'renewed');
      return written;
    } catch (error) {
      claim?.reject(error);
      throw error;
    } finally {
      if (entry.lastWrite === running) entry.lastWrite = undefined;
    }
  }

  private async writeNow(entry: OwnEntry, wish: WriteWish): Promise<Written | readonly Entry[]> {
    const { lease, exactly = false, isRenewed = false } = wish;
    const { client } = this.context;
    const isClaim = lease > 0;
    const setsExactly = isClaim && (exactly || entry.isUnclaimed);
    const left = Math.ceil(entry.willEndAt - client.now());
    // One that was extended keeps what it has until less than a renewal is left of it.
    const mayBeKept = isRenewed && !exactly && lease <= client.watchdogTimeout;
    const isShort = setsExactly || left <= client.watchdogTimeout + 1;
    const isKept = isClaim ? mayBeKept && isShort : entry.isKept;
    // Not the difference of two times: the sum may have been rounded, and the lease would be longer than asked for.
    const ms = isKept ? client.watchdogTimeout : setsExactly ? lease : Math.max(1, lease, left);
    if (isClaim) entry.isUnclaimed = false;
    entry.isUnwritten = false;
    return await this.lengthening(entry, ms, setsExactly, () =>
      this.put(entry, ms, isKept, setsExactly, wish.looks === true),
    );
  }

  private async put(
    entry: OwnEntry,
    ms: number,
    isKept: boolean,
    setsExactly: boolean,
    looks: boolean,
  ): Promise<Written | readonly Entry[]> {
    const { context } = this;
    const { base } = context;
    const { lock, name } = entry;
    const needsToken = looks || entry.token === undefined;
    for (;;) {
      const leaseId = context.leases.at(ms) ?? (await context.leases.for(ms));
      const sentAt = context.client.now();
      const value = writtenEntry(entry.valueFor(true, ms, isKept));
      const put = { do: 'put', key: name, value, lease: leaseId } as const;
      const { revision, reply } = await context.transactions.run([entry.key], {
        do: 'txn',
        // A late copy of an earlier write must not take it back to the lease of a connection that is gone.
        if: [
          { key: name, created: entry.created },
          { key: name, lease: entry.leaseId },
        ],
        then: [put, ...(looks ? [rangeOf(lock)] : []), ...(needsToken ? [base.range] : [])],
        else: [rangeOf(lock)],
      });
      const found = reply.succeeded ? (looks ? foundIn(reply.replies[1]) : []) : foundIn(reply.replies[0]);
      if (reply.succeeded) {
        if (needsToken && !base.learn(foundIn(reply.replies.at(-1)))) await base.found();
        entry.modified = Math.max(entry.modified, revision);
        Object.assign(entry, { isHeld: true, isKept, leaseId });
        const end = later(context.client.now(), ms);
        if (setsExactly || end > entry.endsAt) this.endAt(entry, end);
        const entries = looks ? this.reader.stateOf(lock, found, revision, sentAt).entries : [];
        return { revision, sentAt, entries };
      }
      const known = found.find((one) => one.key === name);
      if (known?.created !== entry.created || known.lease === entry.leaseId) {
        this.drop(entry);
        return this.reader.stateOf(lock, found, revision, sentAt).entries;
      }
      // A write whose answer was lost has moved it.
      entry.leaseId = known.lease;
    }
  }

  /**
   * Renews without a write what the watchdog renews: etcd keeps its lease, and tells that the entry is there and lives on it.
   * A full etcd ends no hold, then.
   */
  private async keep(entry: OwnEntry, ms: number): Promise<RenewReply> {
    const { client, leases } = this.context;
    if (!leases.isCurrent(entry.leaseId)) {
      try {
        const written = await this.write(entry, { lease: ms, isRenewed: true });
        return isRefused(written) ? reasonIn(written) : 'renewed';
      } catch (error) {
        // What can't be moved stays where it is.
        if (!isOutOfSpace(error) || !leases.isAlive(entry.leaseId)) throw error;
      }
    }
    const { leaseId } = entry;
    const [lasts, found] = await this.lengthening(entry, ms, false, () =>
      Promise.all([leases.prolong(leaseId, ms), this.lookups.find(entry.name)]),
    );
    if (!lasts || found?.created !== entry.created) {
      this.drop(entry);
      return await this.whyNot(entry.key);
    }
    if (found.lease !== leaseId) {
      entry.leaseId = found.lease;
      const written = await this.write(entry, { lease: ms, isRenewed: true });
      return isRefused(written) ? reasonIn(written) : 'renewed';
    }
    const end = later(client.now(), ms);
    if (entry.isHeld && end > entry.endsAt && this.get(entry.key, entry.owner) === entry)
      this.endAt(entry, end);
    return 'renewed';
  }

  /** A request that may lengthen the lease of an entry: until it is answered nobody here takes the lease for over. */
  private async lengthening<T>(
    entry: OwnEntry,
    ms: number,
    setsExactly: boolean,
    request: () => Promise<T>,
  ): Promise<T> {
    const end = later(this.context.client.now(), ms);
    if (setsExactly || end > entry.willEndAt) entry.willEndAt = end;
    entry.writing += 1;
    try {
      return await request();
    } finally {
      entry.writing -= 1;
      // What failed has lengthened nothing.
      if (entry.writing === 0) entry.willEndAt = entry.endsAt;
    }
  }

  /** Deletes it, if it is still the one that was put. Answers whether it was there. */
  async delete(entry: OwnEntry, more: Transaction['then'] = []): Promise<boolean> {
    const { name, key, created } = entry;
    this.drop(entry);
    // Deletions of a lock's entries go together: each is on a condition of its own.
    const concerns = more.length === 0 ? name : key;
    const transaction: Transaction = {
      do: 'txn',
      if: [{ key: name, created }],
      then: [{ do: 'delete', key: name }, ...more],
      else: more,
    };
    // Not before a place in line that is asked for in the same tick.
    const { leases, transactions } = this.context;
    try {
      const { reply } = await transactions.run([concerns], transaction, key);
      return reply.succeeded;
    } catch (error) {
      // It must not stay for as long as this process lives.
      if (leases.isCurrent(entry.leaseId)) leases.leaveAll();
      throw error;
    }
  }

  /** What keeps an owner from a lock that it does not hold. */
  async whyNot(key: string): Promise<'gone' | 'taken'> {
    const { context } = this;
    return await context.turns.run(key, async () =>
      reasonIn((await this.reader.read(context.names.lock(key))).entries),
    );
  }

  /** Claims that are held back are not written any more. */
  close(): void {
    for (const entry of this.context.own.values()) {
      entry.claim?.reject(notConnected(new Error('closed')));
      entry.claim = undefined;
    }
  }

  /** What is known of a grant is written, be it claimed or not: others count its lease, and want to know its token. */
  private async settle(entry: OwnEntry): Promise<void> {
    if (!entry.isUnwritten || this.get(entry.key, entry.owner) !== entry) return;
    // What became of it is told to whoever claims it, if anybody does.
    await this.write(entry, { lease: 0 }).catch(() => undefined);
  }

  /** Of an owner of which this session knows nothing, or that it only waits. */
  private async renewUnknown({ key, owner, lease, exactly = false }: RenewRequest): Promise<RenewReply> {
    const { context, reader } = this;
    const lock = context.names.lock(key);
    return await context.turns.run(key, async () => {
      for (;;) {
        const { entries } = await reader.readLiving(lock);
        const found = holdersIn(entries).find((entry) => entry.owner === owner);
        if (found === undefined) return reasonIn(entries);
        const { name, modified } = found;
        const ms = exactly || !found.isHeld ? lease : Math.max(lease, found.lease);
        const value = writtenEntry({
          ...found,
          isHeld: true,
          isKept: false,
          lease: ms,
          token: reader.tokenOf(found),
        });
        const { reply } = await context.transactions.run([key], {
          do: 'txn',
          if: [{ key: name, modified }],
          then: [{ do: 'put', key: name, value, lease: 'keep' }],
          else: [],
        });
        if (reply.succeeded) return 'renewed';
      }
    });
  }

  private endAt(entry: OwnEntry, time: MonotonicMs): void {
    entry.endsAt = time;
    if (time > entry.willEndAt || entry.writing === 0) entry.willEndAt = time;
    this.context.timers.timers.set(entry, time);
  }

  /** A lease is over, or a waiter silent for too long: then it is given up, as it would be if its process were gone. */
  private readonly onDue = (entry: OwnEntry, now: MonotonicMs): void => {
    const { context } = this;
    // What is under way decides.
    const again = entry.writing > 0 ? 20 : entry.endsAt > now ? entry.endsAt - now : 0;
    if (again > 0) {
      context.timers.timers.set(entry, later(now, again));
      return;
    }
    void this.delete(entry).catch(() => {
      if (this.get(entry.key, entry.owner) === undefined) this.deleteLater(entry);
    });
  };

  private deleteLater(entry: OwnEntry): void {
    this.context.timers.timers.after(DELETION_PAUSE, () => {
      if (this.get(entry.key, entry.owner) !== undefined) return;
      void this.delete(entry).catch(() => {
        this.deleteLater(entry);
      });
    });
  }
}

export function isRefused(written: Written | readonly Entry[]): written is readonly Entry[] {
  return Array.isArray(written);
}

/** Whether a lock is held by one other, who excludes everybody. */
function reasonIn(entries: readonly Entry[]): 'gone' | 'taken' {
  return entries[0]?.limit === 1 ? 'taken' : 'gone';
}
