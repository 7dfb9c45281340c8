import { later } from '../../../common/clock.js';
import type { Timer } from '../../../common/timer-queue.js';
import type {
  AcquireRequest,
  Grant,
  MonotonicMs,
  OwnerId,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  WallClockMs,
} from '../../port/lock-store.js';
import { WAITER_TTL } from '../../port/times.js';
import { isOutOfSpace, notConnected } from '../connection/etcd-failure.js';
import { foundIn, type Call } from '../connection/protocol.js';
import type { LockContext } from './context.js';
import { ownName, writtenEntry, type EntryValue, type LockRange } from './entries.js';
import { LockState, rangeOf } from './lock-reader.js';
import { TOKENS_PER_REVISION } from './token-base.js';

/** How long the claim of a pushed grant is delayed, ms: many holds end earlier, and need no write for it. */
const CLAIM_DELAY = 10;
const DELETION_PAUSE = 500;
/** How long to wait for a pending write of an entry that is due, ms. */
const WRITING_PAUSE = 20;

interface Claim {
  readonly lease: number;
  readonly isRenewed: boolean;
  readonly resolve: (reply: RenewReply) => void;
  readonly reject: (error: unknown) => void;
}

/** An entry that this session has put. */
export class OwnEntry implements Timer {
  heapIndex = -1;
  dueAt = 0 as MonotonicMs;

  readonly key: string;
  readonly owner: OwnerId;
  readonly limit: number;
  readonly permits: number;
  callers: number;
  label: string | undefined;
  /** How many tokens a pushed grant should include. */
  tokens: number;
  claimLease: number;

  isHeld = false;
  /** Whether it holds the lock by a push that is not written to the entry yet. */
  isUnwritten = false;
  isKept = false;
  /** Whether the engine has not claimed the pushed grant yet. */
  isUnclaimed = false;
  token: number | undefined;
  since: WallClockMs | undefined;
  /** When its lease expires at the latest; for a waiter: when it has not polled for too long. */
  endsAt = 0 as MonotonicMs;
  /** The same if all pending writes succeed. */
  willEndAt = 0 as MonotonicMs;
  /** When the last request was sent whose reply showed it as a waiter. */
  waitedAt: MonotonicMs | undefined;
  claim: Claim | undefined;
  /** The number of pending requests that renew it. */
  writing = 0;
  /** The last pending write: writes are sent one after the other, since requests overtake each other. */
  lastWrite: Promise<unknown> | undefined;

  /**
   * @param created the revision that created it
   * @param modified the last revision of the entry that the session knows of
   * @param leaseId the etcd lease that it is attached to, as far as the session knows
   */
  constructor(
    readonly lock: LockRange,
    readonly name: string,
    request: AcquireRequest,
    readonly created: number,
    public modified: number,
    public leaseId: number,
    private readonly onDue: (entry: OwnEntry, now: MonotonicMs) => void,
  ) {
    this.key = request.key;
    this.owner = request.owner;
    this.limit = request.limit;
    this.permits = request.permits;
    this.callers = request.callers;
    this.label = request.label;
    this.tokens = request.tokens;
    this.claimLease = request.claimLease;
  }

  fire(now: MonotonicMs): void {
    this.onDue(this, now);
  }

  valueFor(isHeld: boolean, lease: number, isKept = false): EntryValue {
    const { limit, permits, callers, token, since, label } = this;
    return { isHeld, limit, permits, lease, isKept, callers, token, since, label };
  }
}

/** The content of a write. A lease of 0 leaves the lease unchanged. */
interface WriteRequest extends Pick<RenewRequest, 'lease' | 'exactly' | 'isRenewed'> {
  /** Whether to return all entries of the lock. */
  readonly looks?: boolean;
}

interface Written {
  /** Whether the entry no longer exists; nothing was written then. */
  readonly isGone: boolean;
  /** Without entries, unless `looks` was set or the entry is gone. */
  readonly state: LockState;
}

/** The entries of this session's owners: grants, renews and deletes them. */
export class OwnEntries {
  private readonly byName = new Map<string, OwnEntry>();

  constructor(private readonly context: LockContext) {}

  get all(): readonly OwnEntry[] {
    return [...this.byName.values()];
  }

  get(key: string, owner: string): OwnEntry | undefined {
    return this.byName.get(ownName(key, owner));
  }

  add(
    lock: LockRange,
    request: AcquireRequest,
    created: number,
    modified: number,
    leaseId: number,
  ): OwnEntry {
    const name = this.context.names.entry(lock, request.limit, request.owner);
    const entry = new OwnEntry(lock, name, request, created, modified, leaseId, this.onDue);
    this.byName.set(ownName(entry.key, entry.owner), entry);
    return entry;
  }

  polled(entry: OwnEntry): void {
    this.endAt(entry, later(this.context.client.now(), WAITER_TTL));
  }

  /** The owner holds the lock by a write at this revision. */
  granted(entry: OwnEntry, revision: number, lease: number): void {
    const { base, client } = this.context;
    entry.isHeld = true;
    entry.token ??= base.at(revision);
    this.endAt(entry, later(client.now(), lease));
  }

  grantOf(entry: OwnEntry, tokens: number, othersWait: boolean): Grant {
    const { token, since = Date.now() as WallClockMs } = entry;
    if (token === undefined) throw new Error('an entry was granted without a token');
    return { token, since, tokens: Math.min(tokens, TOKENS_PER_REVISION - 1), othersWait };
  }

  /** The owner holds the lock by a read at this revision, for its claim lease at most. The write follows. */
  holdUnwritten(entry: OwnEntry, revision: number): void {
    entry.isUnwritten = entry.isUnclaimed = true;
    entry.since = Date.now() as WallClockMs;
    this.granted(entry, revision, entry.claimLease);
    this.context.timers.after(CLAIM_DELAY, () => {
      if (!entry.isUnwritten || this.get(entry.key, entry.owner) !== entry) return;
      // Even without a claim: other processes count its lease and need its token. The claim gets the error, if any.
      this.write(entry, { lease: 0 }).catch(() => undefined);
    });
  }

  /** Forgets an entry that no longer exists. */
  drop(entry: OwnEntry): void {
    const name = ownName(entry.key, entry.owner);
    if (this.byName.get(name) === entry) this.byName.delete(name);
    this.context.timers.clear(entry);
    entry.claim?.resolve('gone');
    entry.claim = undefined;
  }

  hasExpired(entry: OwnEntry): boolean {
    return entry.isHeld && this.context.client.now() >= entry.endsAt;
  }

  async renew(request: RenewRequest): Promise<RenewReply> {
    const { key, owner, lease, exactly = false, isRenewed = false } = request;
    const entry = this.get(key, owner);
    if (entry?.isHeld !== true) return await this.renewUnknown(request);
    if (this.hasExpired(entry)) {
      await this.delete(entry);
      return await this.whyNotHeld(request);
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
    const needsNoWrite = isLongEnough && isRenewed && !exactly && !entry.isUnwritten && !entry.isUnclaimed;
    if (needsNoWrite) return await this.keep(entry, lease);
    return replyTo(entry, await this.write(entry, { lease, exactly, isRenewed }));
  }

  async reserve({ tokens, ...request }: ReserveRequest): Promise<ReserveReply> {
    const { key, owner } = request;
    if (tokens >= TOKENS_PER_REVISION) {
      throw new RangeError(`fewer than ${String(TOKENS_PER_REVISION)} tokens at once`);
    }
    const entry = this.get(key, owner);
    if (entry?.isHeld !== true) return { outcome: await this.whyNotHeld(request) };
    if (this.hasExpired(entry)) {
      await this.delete(entry);
      return { outcome: await this.whyNotHeld(request) };
    }
    const { isGone, state } = await this.write(entry, { ...request, looks: true });
    if (isGone) return { outcome: state.whyNotHeld(owner) };
    const { base, client } = this.context;
    return { outcome: 'reserved', token: base.at(state.revision), othersWait: state.othersWait(client.id) };
  }

  /** Writes that an entry holds the lock, together with a delayed claim. */
  async write(entry: OwnEntry, request: WriteRequest): Promise<Written> {
    const { claim } = entry;
    entry.claim = undefined;
    const { exactly = false, isRenewed = false } = request;
    const lease = exactly ? request.lease : Math.max(request.lease, claim?.lease ?? 0);
    const merged = { ...request, lease, isRenewed: isRenewed || claim?.isRenewed === true };
    const work = (): Promise<Written> => this.writeNow(entry, merged);
    const running = entry.lastWrite === undefined ? work() : entry.lastWrite.then(work, work);
    entry.lastWrite = running;
    try {
      const written = await running;
      claim?.resolve(replyTo(entry, written));
      return written;
    } catch (error) {
      claim?.reject(error);
      throw error;
    } finally {
      if (entry.lastWrite === running) entry.lastWrite = undefined;
    }
  }

  private async writeNow(entry: OwnEntry, request: WriteRequest): Promise<Written> {
    const { lease, exactly = false, isRenewed = false, looks = false } = request;
    const { client } = this.context;
    const isClaim = lease > 0;
    const setsExactly = isClaim && (exactly || entry.isUnclaimed);
    const left = Math.ceil(entry.willEndAt - client.now());
    // A lease that was extended beyond the watchdog's stays unchanged until less than a renewal is left.
    const isShort = setsExactly || left <= client.watchdogTimeout + 1;
    const mayBeKept = isRenewed && !exactly && lease <= client.watchdogTimeout;
    const isKept = isClaim ? mayBeKept && isShort : entry.isKept;
    // Not the difference of two times: rounding could make the lease longer than requested.
    const ms = isKept ? client.watchdogTimeout : setsExactly ? lease : Math.max(1, lease, left);
    if (isClaim) entry.isUnclaimed = false;
    entry.isUnwritten = false;
    return await this.lengthening(entry, ms, setsExactly, () =>
      this.put(entry, ms, isKept, setsExactly, looks),
    );
  }

  private async put(
    entry: OwnEntry,
    ms: number,
    isKept: boolean,
    setsExactly: boolean,
    looks: boolean,
  ): Promise<Written> {
    const { base, client, leases, transactions } = this.context;
    const { lock, name } = entry;
    const needsBase = looks || entry.token === undefined;
    for (;;) {
      const leaseId = leases.at(ms) ?? (await leases.for(ms));
      const sentAt = client.now();
      const value = writtenEntry(entry.valueFor(true, ms, isKept));
      const put = { do: 'put', key: name, value, lease: leaseId } as const;
      const { revision, reply } = await transactions.run(entry.key, {
        do: 'txn',
        // A late copy of an earlier write must not move the hold back to the lease of an earlier connection.
        if: [
          { key: name, created: entry.created },
          { key: name, lease: entry.leaseId },
        ],
        then: [put, ...(looks ? [rangeOf(lock)] : []), ...(needsBase ? [base.range] : [])],
        else: [rangeOf(lock)],
      });
      const { succeeded, replies } = reply;
      const found = !succeeded || looks ? foundIn(replies[succeeded ? 1 : 0]) : [];
      if (succeeded) {
        if (needsBase && !base.learn(foundIn(replies.at(-1)))) await base.create();
        entry.modified = Math.max(entry.modified, revision);
        Object.assign(entry, { isHeld: true, isKept, leaseId });
        const end = later(client.now(), ms);
        if (setsExactly || end > entry.endsAt) this.endAt(entry, end);
        const state = looks
          ? this.context.reader.stateOf(lock, found, revision, sentAt)
          : new LockState([], revision, sentAt);
        return { isGone: false, state };
      }
      const known = found.find((one) => one.key === name);
      if (known?.created !== entry.created || known.lease === entry.leaseId) {
        this.drop(entry);
        return { isGone: true, state: this.context.reader.stateOf(lock, found, revision, sentAt) };
      }
      // Moved by a write whose reply was lost.
      entry.leaseId = known.lease;
    }
  }

  /**
   * Renews without a write: keeps the etcd lease alive and checks that the entry is still attached to it. Holds
   * therefore survive while etcd is out of space.
   */
  private async keep(entry: OwnEntry, ms: number): Promise<RenewReply> {
    const { client, leases, lookups } = this.context;
    if (!leases.isCurrent(entry.leaseId)) {
      try {
        return replyTo(entry, await this.write(entry, { lease: ms, isRenewed: true }));
      } catch (error) {
        // An entry that can't be moved stays on its lease.
        if (!isOutOfSpace(error) || !leases.isAlive(entry.leaseId)) throw error;
      }
    }
    const { leaseId } = entry;
    const [lasts, found] = await this.lengthening(entry, ms, false, () =>
      Promise.all([leases.prolong(leaseId, ms), lookups.find(entry.name)]),
    );
    if (!lasts || found?.created !== entry.created) {
      this.drop(entry);
      return await this.whyNotHeld(entry);
    }
    if (found.lease !== leaseId) {
      entry.leaseId = found.lease;
      return replyTo(entry, await this.write(entry, { lease: ms, isRenewed: true }));
    }
    const end = later(client.now(), ms);
    if (entry.isHeld && end > entry.endsAt) this.endAt(entry, end);
    return 'renewed';
  }

  /** Runs a request that may lengthen a lease. Until the reply this session does not treat the lease as expired. */
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
      if (entry.writing === 0) entry.willEndAt = entry.endsAt;
    }
  }

  /**
   * Deletes an entry, unless its owner has put another one since. Returns whether it existed.
   *
   * @param more further operations, which are carried out in any case
   */
  async delete(entry: OwnEntry, more: readonly Call[] = []): Promise<boolean> {
    const { name, key, created } = entry;
    this.drop(entry);
    const { leases, transactions } = this.context;
    const then: Call[] = [{ do: 'delete', key: name }, ...more];
    // Deletions of a lock's entries can be one request, as their conditions do not depend on each other.
    const concerns = more.length === 0 ? name : key;
    try {
      // Not before a request of the same tick for a queue position.
      const { reply } = await transactions.run(
        concerns,
        { do: 'txn', if: [{ key: name, created }], then, else: more },
        key,
      );
      return reply.succeeded;
    } catch (error) {
      // It must not stay for as long as this process lives.
      if (leases.isCurrent(entry.leaseId)) leases.replaceAll();
      throw error;
    }
  }

  /**
   * Leaves the holds to expire when the session ends, each after what is left of its lease, and removes the
   * waiters. The etcd leases are no longer kept alive, so they end shortly.
   */
  async leaveToExpire(): Promise<void> {
    const { client, leases, transactions } = this.context;
    const now = client.now();
    const holds = this.all.filter(({ isHeld, endsAt }) => isHeld && endsAt > now);
    if (holds.length > 0) {
      const longest = Math.max(...holds.map(({ endsAt }) => endsAt - now));
      const lease = await leases.grantPassing(Math.ceil(longest / 1_000) + 1);
      await Promise.all(
        holds.map((entry) => {
          const { name, created } = entry;
          const left = Math.max(1, Math.ceil(entry.endsAt - client.now()));
          const value = writtenEntry(entry.valueFor(true, left));
          return transactions.runIf(
            entry.key,
            { key: name, created },
            { do: 'put', key: name, value, lease },
          );
        }),
      );
    }
    await leases.revoke();
  }

  /** Fails the delayed claims, which are no longer written. */
  close(): void {
    for (const entry of this.byName.values()) {
      entry.claim?.reject(notConnected(new Error('closed')));
      entry.claim = undefined;
    }
  }

  private async whyNotHeld({ key, owner }: Pick<OwnEntry, 'key' | 'owner'>): Promise<'gone' | 'taken'> {
    const { names, turns } = this.context;
    const state = await turns.run(key, () => this.context.reader.read(names.lock(key)));
    return state.whyNotHeld(owner);
  }

  /** Renews an owner that this session does not know, or knows only as a waiter. */
  private async renewUnknown({ key, owner, lease, exactly = false }: RenewRequest): Promise<RenewReply> {
    const { names, transactions, turns } = this.context;
    const lock = names.lock(key);
    return await turns.run(key, async () => {
      for (;;) {
        const state = await this.context.reader.read(lock);
        const found = state.holderOf(owner);
        if (found === undefined) return state.whyNotHeld(owner);
        const { name, modified } = found;
        const ms = exactly || !found.isHeld ? lease : Math.max(lease, found.lease);
        const token = this.context.reader.tokenOf(found);
        const value = writtenEntry({ ...found, isHeld: true, isKept: false, lease: ms, token });
        const put = { do: 'put', key: name, value, lease: 'keep' } as const;
        if (await transactions.runIf(key, { key: name, modified }, put)) return 'renewed';
      }
    });
  }

  private endAt(entry: OwnEntry, time: MonotonicMs): void {
    entry.endsAt = time;
    // It was deleted while a write of it was pending: nothing is left to delete when its time comes.
    if (this.get(entry.key, entry.owner) !== entry) return;
    if (time > entry.willEndAt || entry.writing === 0) entry.willEndAt = time;
    this.context.timers.set(entry, time);
  }

  /** A lease has expired, or a waiter has not polled for too long: deletes the entry, as if its process were gone. */
  private readonly onDue = (entry: OwnEntry, now: MonotonicMs): void => {
    const again = entry.writing > 0 ? WRITING_PAUSE : Math.max(0, entry.endsAt - now);
    if (again > 0) this.context.timers.set(entry, later(now, again));
    else this.deleteUntilDone(entry);
  };

  private deleteUntilDone(entry: OwnEntry): void {
    void this.delete(entry).catch(() => {
      this.context.timers.after(DELETION_PAUSE, () => {
        if (this.get(entry.key, entry.owner) === undefined) this.deleteUntilDone(entry);
      });
    });
  }
}

function replyTo({ owner }: OwnEntry, { isGone, state }: Written): RenewReply {
  return isGone ? state.whyNotHeld(owner) : 'renewed';
}
