import { later } from '../../common/clock.js';
import { Deferred } from '../../common/deferred.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import type { RenewReplies } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireRequest,
  type LockStoreClient,
  type MonotonicMs,
  type OwnerId,
  type OwnerRequest,
  type ReleaseReply,
  type RenewReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type WallClockMs,
} from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { WAITER_TTL } from '../port/times.js';
import { Turns } from '../port/turns.js';
import { grantRevision, type EntryData } from './entry-data.js';
import { clientOf, type LockQueue, type QueueEntry } from './lock-queue.js';
import {
  TOKENS_PER_REVISION,
  type EntryWrite,
  type OrderedDriver,
  type TokenShare,
  type WriteReply,
} from './ordered-driver.js';

/** The pause before an expired entry is checked again while a request that writes to it is pending, ms. */
const WRITE_PAUSE = 20;

/** The pause before the deletion of an entry is repeated that the store has rejected or left in doubt, ms. */
const REMOVE_AGAIN = 1_000;

/** Renewals in one transaction: enough to spread its cost, and small. */
const LARGEST_RENEWAL = 64;

/** How long the write of a hold that was found by a read is delayed, ms: many end earlier, and need none. */
const WRITE_DELAY = 10;

const ALL_TOKENS: TokenShare = { offset: 0, count: TOKENS_PER_REVISION };

export interface OwnHold {
  readonly token: number;
  /** How many consecutive tokens are its own. */
  readonly tokens: number;
  readonly since: WallClockMs;
  endsAt: MonotonicMs;
  /** When the lease ends according to the last write, even if that is still pending. */
  writtenUntil: MonotonicMs;
  /** Whether the grant was pushed and the engine has not renewed it yet. */
  isUnclaimed: boolean;
  /** Whether its entry states that the hold lasts as long as the session, so that renewals need not write. */
  isKept: boolean;
  /** The write of a hold that was found by a read, until it begins. */
  delayed: DelayedWrite | undefined;
}

/** A write that is delayed, with the claim that it is to include. */
interface DelayedWrite {
  claim: RenewRequest | undefined;
  readonly reply: Deferred<RenewReply>;
}

/** The result of reading the queue, for a waiter behind its front. */
export interface SeenQueue {
  readonly predecessor: string;
  readonly isPredecessorHolder: boolean;
  readonly holderLeaseLeft: number | undefined;
  /** When to read the queue again, if no event comes earlier. */
  readonly readAgainAt: MonotonicMs;
}

export interface OwnEntry {
  readonly path: string;
  /** The latest request of its owner. */
  request: AcquireRequest;
  /** The shortest claim lease that its data in the store may have: a write in doubt may have been carried out. */
  claimLease: number;
  /** Whether its data says `waits`. */
  isMarkedWaiting: boolean;
  hold: OwnHold | undefined;
  /** When the last read was sent that showed everything committed before, and the entry behind the holders. */
  waitedAt: MonotonicMs | undefined;
  /** Undefined at the front of the queue, and before the queue was read. */
  seen: SeenQueue | undefined;
  /** Number of pending requests that write that the entry holds the lock. */
  writing: number;
  /** The entries, or the key of the queue, that it watches while it waits. */
  readonly watched: Set<string>;
  /** Deletes the entry when its lease ends or, of a waiter, when its owner has not made another request for too long. */
  expiry: CallbackTimer | undefined;
}

interface HeldRenewal {
  readonly entry: OwnEntry;
  readonly hold: OwnHold;
  readonly lease: number;
  readonly request: Pick<RenewRequest, 'exactly' | 'isRenewed'>;
  readonly reply: Deferred<RenewReply>;
}

/** What the parts of a session share. */
export interface SessionContext {
  readonly client: LockStoreClient;
  /** Timers that end with the session. */
  readonly timers: TimerQueue;
}

/** New content of an entry of this client: see `EntryWrite`. */
interface OwnWrite {
  readonly entry: OwnEntry;
  readonly data: EntryData | undefined;
}

/**
 * The entries of this client. Each lasts as long as the lease of its hold or, of a waiter, as its owner keeps
 * requesting.
 */
export class OwnEntries {
  /** Requests of an owner come one after the other. */
  readonly turns = new Turns<OwnerId>();
  private readonly entries = new Map<OwnerId, OwnEntry>();
  private readonly inDoubt = new Set<OwnerId>();
  /** Owners whose callers left before anything was sent for them. */
  private readonly neverSent = new Set<OwnerId>();
  /** Waiters to wake by an event, by the entry or key that they watch. Each watch fires once. */
  private readonly watchers = new Map<string, Set<OwnEntry>>();
  /** Entries to be deleted that may still exist, with their keys. */
  private readonly unwanted = new Map<string, string>();

  constructor(
    private readonly driver: OrderedDriver,
    private readonly context: SessionContext,
  ) {}

  /** @param key if given, the entry must be in the queue of that lock */
  get(owner: OwnerId, key?: string): OwnEntry | undefined {
    const entry = this.entries.get(owner);
    return key === undefined || entry?.request.key === key ? entry : undefined;
  }

  get all(): readonly OwnEntry[] {
    return [...this.entries.values()];
  }

  add(request: AcquireRequest, path: string, isMarkedWaiting: boolean): OwnEntry {
    const unset = { hold: undefined, waitedAt: undefined, seen: undefined, writing: 0, expiry: undefined };
    const { claimLease } = request;
    this.neverSent.delete(request.owner);
    const entry: OwnEntry = { path, request, claimLease, isMarkedWaiting, watched: new Set(), ...unset };
    this.inDoubt.delete(request.owner);
    this.entries.set(request.owner, entry);
    return entry;
  }

  forget(entry: OwnEntry): void {
    const { owner } = entry.request;
    if (this.entries.get(owner) === entry) this.entries.delete(owner);
    this.unwatch(entry);
    this.stopExpiry(entry);
    takeDelayed(entry.hold)?.reply.resolve('gone');
  }

  /** Records that an event of this entry or key wakes the entry. */
  watch(path: string, entry: OwnEntry): void {
    if (this.entries.get(entry.request.owner) !== entry) return;
    entry.watched.add(path);
    const watchers = this.watchers.get(path);
    if (watchers === undefined) this.watchers.set(path, new Set([entry]));
    else watchers.add(entry);
  }

  /** The entries that an event wakes. */
  takeWatchers(path: string): Iterable<OwnEntry> {
    const watchers = this.watchers.get(path) ?? [];
    this.watchers.delete(path);
    for (const entry of watchers) entry.watched.delete(path);
    return watchers;
  }

  /** Watches end with the connection. */
  disconnected(): void {
    for (const entry of this.entries.values()) {
      entry.watched.clear();
      entry.seen = undefined;
    }
    this.watchers.clear();
  }

  /** Deletes what could not be deleted before the connection was lost. */
  reconnected(): void {
    for (const [path, key] of this.unwanted) this.removePath(key, path).catch(() => undefined);
  }

  /** For an entry that leaves, while what it watches may stay for days, and for entries that were gone already. */
  unwatch(entry: OwnEntry, paths: Iterable<string> = entry.watched): void {
    for (const path of paths) {
      entry.watched.delete(path);
      const watchers = this.watchers.get(path);
      watchers?.delete(entry);
      if (watchers?.size === 0) this.watchers.delete(path);
    }
  }

  /** The session has ended, and all its entries with it. */
  clear(): void {
    for (const entry of this.all) this.forget(entry);
    this.inDoubt.clear();
    this.neverSent.clear();
    this.unwanted.clear();
  }

  /** Forgets an entry and deletes it; returns whether it existed. A failure is retried in the background. */
  async remove(entry: OwnEntry): Promise<boolean> {
    this.forget(entry);
    try {
      return await this.removePath(entry.request.key, entry.path);
    } catch (error) {
      const { message, retryable, unreachable } = storeFailure(error);
      throw new LockStoreError(message, { inDoubt: true, retryable, unreachable, cause: error });
    }
  }

  /** Whether a request of the owner may have left an entry that this client does not know. */
  isInDoubt(owner: OwnerId): boolean {
    return this.inDoubt.has(owner);
  }

  /** Records that the store has no entry of the owner, so that its withdrawal needs no request. */
  hasNothingOf(owner: OwnerId): void {
    this.neverSent.add(owner);
  }

  /** Records that a failed request may have created an entry; returns the failure. */
  failed(error: unknown, { key, owner }: AcquireRequest): LockStoreError {
    const failure = storeFailure(error);
    if (failure.inDoubt && this.get(owner, key) === undefined) this.inDoubt.add(owner);
    return failure;
  }

  /**
   * Looks for entries that a request in doubt may have left, and deletes them.
   *
   * @param request if given, an entry that serves it is kept, provided that it belongs to the current session
   */
  async recover(key: string, owner: OwnerId, request?: AcquireRequest): Promise<OwnEntry | undefined> {
    const queue = await this.driver.queue(key, { isFresh: true });
    let kept: OwnEntry | undefined;
    for (const one of queue.entries.filter((entry) => entry.owner === owner)) {
      const { path, limit } = one;
      const mayStay = request !== undefined && kept === undefined && limit === request.limit;
      const read = mayStay ? (one.content?.() ?? (await this.driver.read(key, path))) : undefined;
      if (mayStay && read?.isOfSession === true) {
        kept = this.add(request, path, read.data.state === 'waits');
        kept.claimLease = read.data.claim;
      } else await this.removePath(key, path);
    }
    this.inDoubt.delete(owner);
    return kept;
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    const held: HeldRenewal[] = [];
    const now = this.context.client.now();
    const replies = requests.map((request): PromiseLike<RenewReply> => {
      const entry = this.get(request.owner, request.key);
      const hold = entry?.hold;
      if (entry === undefined || hold === undefined || hold.endsAt <= now) {
        return this.renewUnknown(request, entry);
      }
      const { delayed } = hold;
      if (delayed !== undefined && request.exactly !== true) {
        delayed.claim = merged(request, delayed.claim);
        return delayed.reply;
      }
      const lease = leaseToWrite(hold, request.lease, request.exactly === true, now);
      const reply = new Deferred<RenewReply>();
      held.push({ entry, hold, lease, request, reply });
      return reply;
    });
    for (let first = 0; first < held.length; first += LARGEST_RENEWAL) {
      void this.renewHeld(held.slice(first, first + LARGEST_RENEWAL));
    }
    const settled = await Promise.allSettled(replies);
    return settled.map((each) => (each.status === 'fulfilled' ? each.value : storeFailure(each.reason)));
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    const { driver } = this;
    const { client } = this.context;
    const { key, owner, tokens } = request;
    if (tokens > TOKENS_PER_REVISION)
      throw new RangeError(`no more than ${TOKENS_PER_REVISION} tokens at once`);
    const entry = this.get(owner, key);
    const hold = entry?.hold;
    if (entry === undefined || hold === undefined || hold.endsAt <= client.now()) {
      if (entry?.hold !== undefined) await this.remove(entry);
      return { outcome: await this.whyNotHeld(key, owner) };
    }
    const written = await this.writeAndRead(entry, hold, request);
    if (written === undefined) return { outcome: await this.lost(entry) };
    const { revision, queue } = written;
    return { outcome: 'reserved', token: driver.tokenOf(revision), othersWait: queue.othersWait(client.id) };
  }

  async release({ key, owner, wasGranted, inDoubt }: OwnerRequest): Promise<ReleaseReply> {
    const { client } = this.context;
    const entry = this.get(owner, key);
    if (entry === undefined) {
      if (this.neverSent.delete(owner)) return 'not-held';
      if (clientOf(owner) !== client.id) {
        const holder = await this.holderOf(key, owner);
        return holder !== undefined && (await this.driver.remove(key, holder.path)) ? 'released' : 'not-held';
      }
      if (!wasGranted || inDoubt || this.isInDoubt(owner)) await this.recover(key, owner);
      return 'not-held';
    }
    const { hold } = entry;
    const isHeld = hold !== undefined && hold.endsAt > client.now();
    if (hold === undefined && wasGranted && !inDoubt) return 'not-held';
    const wasThere = await this.remove(entry);
    return isHeld && wasThere ? 'released' : 'not-held';
  }

  /** Writes what is left of the lease of a hold that will no longer be renewed. */
  async leaveToExpire(entry: OwnEntry, hold: OwnHold): Promise<void> {
    const now = this.context.client.now();
    const left = Math.max(1, Math.ceil(hold.endsAt - now));
    const lease = leaseToWrite(hold, left, true, now);
    takeDelayed(hold)?.reply.resolve('renewed');
    await this.driver.write(
      this.writeOf({ entry, data: this.holdData(entry, hold, lease, { exactly: true }) }),
    );
  }

  /** Writes that the owner still holds the lock, and reads the queue. Undefined if the entry is gone. */
  async writeAndRead(
    entry: OwnEntry,
    hold: OwnHold,
    request: Pick<RenewRequest, 'lease' | 'isRenewed'>,
  ): Promise<(WriteReply & { readonly queue: LockQueue }) | undefined> {
    const delayed = takeDelayed(hold);
    const { lease, isRenewed } = merged(request, delayed?.claim);
    // Writing begins a new lease in any case, since other clients can't know how much of the old one is left.
    const written = leaseToWrite(hold, lease, false, this.context.client.now());
    const write = { entry, data: this.holdData(entry, hold, written, { isRenewed }) };
    try {
      const reply = await this.during([write], () => this.driver.writeAndRead(this.writeOf(write)));
      if (reply !== undefined && lease > 0) this.extend(entry, hold, written);
      delayed?.reply.resolve(reply === undefined ? 'gone' : 'renewed');
      return reply;
    } catch (error) {
      delayed?.reply.reject(error);
      throw error;
    }
  }

  /** Never rejects. */
  private async renewHeld(held: readonly HeldRenewal[]): Promise<void> {
    const writes = held.map(({ entry, hold, lease, request }) => {
      const needsNoWrite = hold.isKept && request.exactly !== true && this.driver.isKept(lease, true);
      return { entry, data: needsNoWrite ? undefined : this.holdData(entry, hold, lease, request) };
    });
    try {
      if ((await this.write(...writes)) !== undefined) {
        for (const { entry, hold, lease, reply } of held) {
          this.extend(entry, hold, lease);
          reply.resolve('renewed');
        }
        return;
      }
      const [only] = held;
      if (held.length === 1 && only !== undefined) only.reply.resolve(await this.lost(only.entry));
      else await Promise.all(held.map((one) => this.renewHeld([one])));
    } catch (error) {
      for (const { reply } of held) reply.reject(error);
    }
  }

  /** Renews a hold of another client, or replies for one that has ended or belongs to an earlier session. */
  private async renewUnknown(request: RenewRequest, entry: OwnEntry | undefined): Promise<RenewReply> {
    const { key, owner } = request;
    const isOwn = entry?.hold !== undefined || clientOf(owner) === this.context.client.id;
    if (entry?.hold !== undefined) await this.remove(entry);
    if (!isOwn && (await this.renewOfOther(request))) return 'renewed';
    return await this.whyNotHeld(key, owner);
  }

  private async renewOfOther({ key, owner, lease, exactly }: RenewRequest): Promise<boolean> {
    const holder = await this.holderOf(key, owner);
    const read = holder && (await this.driver.read(key, holder.path));
    const revision = read && grantRevision(read);
    if (holder === undefined || read === undefined || revision === undefined) return false;
    const data: EntryData = {
      ...read.data,
      state: 'holds',
      lease: exactly === true ? lease : Math.max(lease, read.data.lease),
      isKept: exactly !== true && read.data.isKept,
      token: read.data.token ?? this.driver.tokenOf(revision) + (read.data.offset ?? 0),
      offset: undefined,
    };
    return (await this.driver.write({ key, path: holder.path, data })) !== undefined;
  }

  private async holderOf(key: string, owner: string): Promise<QueueEntry | undefined> {
    return (await this.driver.queue(key, { isFresh: true })).holderOf(owner);
  }

  private async lost(entry: OwnEntry): Promise<'gone' | 'taken'> {
    this.forget(entry);
    return await this.whyNotHeld(entry.request.key, entry.request.owner);
  }

  private async whyNotHeld(key: string, owner: string): Promise<'gone' | 'taken'> {
    return (await this.driver.queue(key, { isFresh: true })).whyNotHeld(owner);
  }

  private async removePath(key: string, path: string): Promise<boolean> {
    this.unwanted.set(path, key);
    try {
      const wasThere = await this.driver.remove(key, path);
      this.unwanted.delete(path);
      return wasThere;
    } catch (error) {
      // Otherwise it is repeated after the reconnect.
      if (!storeFailure(error).unreachable) {
        this.context.timers.after(REMOVE_AGAIN, () => {
          if (this.unwanted.has(path)) this.removePath(key, path).catch(() => undefined);
        });
      }
      throw error;
    }
  }

  /** The data of an entry that seems to acquire a free lock, waits, or has just become a holder. */
  dataFor(request: AcquireRequest, state: EntryData['state'], lease = request.lease): EntryData {
    const { claimLease: claim, callers, label } = request;
    const isKept = this.driver.isKept(lease, request.isRenewed === true);
    const since = state === 'waits' ? undefined : Date.now();
    return { state, lease, isKept, claim, callers, label, since };
  }

  /** The data of a hold whose lease begins anew. */
  private holdData(
    { request }: OwnEntry,
    hold: OwnHold,
    lease: number,
    { exactly = false, isRenewed = false }: Pick<RenewRequest, 'exactly' | 'isRenewed'>,
  ): EntryData {
    const data = this.dataFor(request, 'holds', lease);
    const { token, since } = hold;
    const isKept = !exactly && this.driver.isKept(lease, isRenewed || hold.isKept);
    return { ...data, isKept, token, since };
  }

  /**
   * Writes that entries hold their locks, all or none; undefined if one is gone. Without data, it only confirms that the
   * entry exists.
   */
  async write(...writes: readonly OwnWrite[]): Promise<WriteReply | undefined> {
    return await this.during(writes, () => this.driver.write(...writes.map((write) => this.writeOf(write))));
  }

  writeOf({ entry, data }: OwnWrite): EntryWrite {
    return { key: entry.request.key, path: entry.path, data };
  }

  /**
   * None of the entries expires during a write: its deletion would come after the write that makes its owner believe it
   * holds the lock.
   */
  private async during<T>(
    writes: readonly OwnWrite[],
    work: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (const { entry } of writes) entry.writing += 1;
    try {
      const written = await work();
      if (written === undefined) return undefined;
      for (const { entry, data } of writes) {
        if (entry.hold !== undefined && data !== undefined) entry.hold.isKept = data.isKept;
      }
      return written;
    } finally {
      for (const { entry } of writes) entry.writing -= 1;
    }
  }

  /** The entry acquired its lock at this revision, by a write. */
  startHold(
    entry: OwnEntry,
    revision: number,
    { since, lease, isKept }: EntryData,
    isUnclaimed: boolean,
    { offset, count }: TokenShare = ALL_TOKENS,
  ): OwnHold {
    const endsAt = later(this.context.client.now(), lease);
    entry.hold = {
      token: this.driver.tokenOf(revision) + offset,
      tokens: count,
      since: since as WallClockMs,
      endsAt,
      writtenUntil: endsAt,
      isUnclaimed,
      isKept,
      delayed: undefined,
    };
    this.unwatch(entry);
    this.expireAt(entry, endsAt);
    return entry.hold;
  }

  /** The entry was found to hold its lock by a read at this revision. The write follows, unless it is released before. */
  startUnwritten(entry: OwnEntry, revision: number): OwnHold {
    const { request } = entry;
    const hold = this.startHold(entry, revision, this.dataFor(request, 'holds', request.claimLease), true);
    hold.isKept = false;
    const delayed: DelayedWrite = { claim: undefined, reply: new Deferred() };
    hold.delayed = delayed;
    this.context.timers.after(WRITE_DELAY, () => {
      if (hold.delayed !== delayed) return;
      hold.delayed = undefined;
      // Even without a claim: other processes count its lease and need its token.
      const { claim = { lease: 0, isRenewed: false }, reply } = delayed;
      const lease = leaseToWrite(hold, claim.lease, false, this.context.client.now());
      void this.renewHeld([{ entry, hold, lease, request: claim, reply }]);
    });
    return hold;
  }

  /** A hold was renewed: its lease begins now. */
  extend(entry: OwnEntry, hold: OwnHold, lease: number): void {
    hold.endsAt = later(this.context.client.now(), lease);
    // A timer that fires too early is set again then: most leases are renewed long before their end.
    if (entry.expiry === undefined || hold.endsAt < entry.expiry.dueAt) this.expireAt(entry, hold.endsAt);
  }

  /** The owner of a waiting entry has made another request. */
  touch(entry: OwnEntry): void {
    this.expireAt(entry, later(this.context.client.now(), WAITER_TTL));
  }

  private expireAt(entry: OwnEntry, time: MonotonicMs): void {
    // It was released while its renewal was pending: deleting it again would be a transaction that fails.
    if (this.entries.get(entry.request.owner) !== entry) return;
    entry.expiry ??= new CallbackTimer(() => {
      const now = this.context.client.now();
      const endsAt = entry.hold?.endsAt;
      if (endsAt !== undefined && endsAt > now) this.expireAt(entry, endsAt);
      else if (entry.writing > 0) this.expireAt(entry, later(now, WRITE_PAUSE));
      else this.remove(entry).catch(() => undefined);
    });
    this.context.timers.set(entry.expiry, time);
  }

  private stopExpiry(entry: OwnEntry): void {
    if (entry.expiry !== undefined) this.context.timers.clear(entry.expiry);
    entry.expiry = undefined;
  }
}

/** One renewal for two: a claim does not shorten a lease that was extended before it. */
function merged<R extends Pick<RenewRequest, 'lease' | 'isRenewed'>>(
  request: R,
  other: RenewRequest | undefined,
): R & { readonly isRenewed: boolean } {
  const isRenewed = request.isRenewed === true || other?.isRenewed === true;
  return { ...request, lease: Math.max(request.lease, other?.lease ?? 0), isRenewed };
}

/** Ends the delay: the caller settles its reply. */
function takeDelayed(hold: OwnHold | undefined): DelayedWrite | undefined {
  const delayed = hold?.delayed;
  if (hold !== undefined) hold.delayed = undefined;
  return delayed;
}

/**
 * The lease to write: no less than what is left of the one written last, even if that is pending, unless the request is
 * for exactly that lease or claims a pushed grant.
 *
 * @param lease 0 for what is left
 */
export function leaseToWrite(hold: OwnHold, lease: number, exactly: boolean, now: MonotonicMs): number {
  const left = Math.max(1, Math.ceil(hold.writtenUntil - now));
  if (lease === 0) return left;
  const written = exactly || hold.isUnclaimed ? lease : Math.max(lease, left);
  hold.isUnclaimed = false;
  hold.writtenUntil = later(now, written);
  return written;
}
