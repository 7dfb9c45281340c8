import { later } from '../../../common/clock.js';
import { CallbackTimer, type TimerQueue } from '../../../common/timer-queue.js';
import { clientOf } from '../../ordered/lock-queue.js';
import {
  LockStoreError,
  type AcquireRequest,
  type MonotonicMs,
  type OwnerId,
  type OwnerRequest,
  type ReleaseReply,
  type RenewReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type WallClockMs,
} from '../../port/lock-store.js';
import { storeFailure } from '../../port/store-failure.js';
import { WAITER_TTL } from '../../port/times.js';
import { Turns } from '../../port/turns.js';
import type { Stat } from '../connection/protocol.js';
import { TOKENS_OF_ONE } from './client-nodes.js';
import { grantIn, type EntryData } from './layout.js';
import type { LockNodes } from './lock-nodes.js';

/** The pause before an expired entry is checked again while a request that writes to it is pending, ms. */
const WRITE_PAUSE = 20;

/** Renewals in one transaction: enough to spread its cost, and small. */
const LARGEST_RENEWAL = 64;

export interface OwnHold {
  readonly token: number;
  readonly since: WallClockMs;
  endsAt: MonotonicMs;
  /** When the lease ends according to the last write, even if that is still pending. */
  writtenUntil: MonotonicMs;
  /** Whether the grant was pushed and the engine has not renewed it yet. */
  isUnclaimed: boolean;
  /** Whether its node states that the hold lasts as long as the session, so that renewals need not write. */
  isKept: boolean;
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
  /** Whether its node says `waits`, or is about to. */
  isMarkedWaiting: boolean;
  hold: OwnHold | undefined;
  /** Undefined at the front of the queue, and before the queue was read. */
  seen: SeenQueue | undefined;
  /** Number of pending requests that write that the entry holds the lock. */
  writing: number;
  /** The nodes it watches while it waits. */
  readonly watched: Set<string>;
  /** Deletes the entry when its lease ends or, of a waiter, when its owner has not made another request for too long. */
  expiry: CallbackTimer | undefined;
}

interface HeldRenewal {
  readonly index: number;
  readonly entry: OwnEntry;
  readonly hold: OwnHold;
  readonly lease: number;
  readonly exactly: boolean;
}

/**
 * The queue entries of this client. Each lasts as long as the lease of its hold or, of a waiter, as its owner keeps
 * requesting.
 */
export class OwnEntries {
  /** Requests of an owner come one after the other. */
  readonly turns = new Turns<OwnerId>();
  private readonly entries = new Map<OwnerId, OwnEntry>();
  private readonly inDoubt = new Set<OwnerId>();
  /** Waiters to wake by an event, by the path that they watch. Each watch fires once. */
  private readonly watchers = new Map<string, Set<OwnEntry>>();

  constructor(
    private readonly nodes: LockNodes,
    private readonly timers: TimerQueue,
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
    const unset = { hold: undefined, seen: undefined, writing: 0, expiry: undefined };
    const entry: OwnEntry = { path, request, isMarkedWaiting, watched: new Set(), ...unset };
    this.inDoubt.delete(request.owner);
    this.entries.set(request.owner, entry);
    return entry;
  }

  forget(entry: OwnEntry): void {
    const { owner } = entry.request;
    if (this.entries.get(owner) === entry) this.entries.delete(owner);
    this.unwatch(entry);
    this.stopExpiry(entry);
  }

  /** Records that an event of this node wakes the entry. */
  watch(path: string, entry: OwnEntry): void {
    if (this.entries.get(entry.request.owner) !== entry) return;
    entry.watched.add(path);
    const watchers = this.watchers.get(path);
    if (watchers === undefined) this.watchers.set(path, new Set([entry]));
    else watchers.add(entry);
  }

  /** The entries that an event of this node wakes. */
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

  /** For an entry that leaves, while the nodes it watches may stay for days, and for nodes that were gone already. */
  unwatch(entry: OwnEntry, paths: Iterable<string> = entry.watched): void {
    for (const path of paths) {
      entry.watched.delete(path);
      const watchers = this.watchers.get(path);
      watchers?.delete(entry);
      if (watchers?.size === 0) this.watchers.delete(path);
    }
  }

  /** The session has ended, and all its nodes with it. */
  clear(): void {
    for (const entry of this.entries.values()) this.stopExpiry(entry);
    this.entries.clear();
    this.watchers.clear();
    this.inDoubt.clear();
  }

  /** Forgets an entry and deletes its node; returns whether it existed. A failure is retried after a reconnect. */
  async remove(entry: OwnEntry): Promise<boolean> {
    this.forget(entry);
    try {
      return await this.nodes.remove(entry.path);
    } catch (error) {
      const { message, retryable, unreachable } = storeFailure(error);
      throw new LockStoreError(message, { inDoubt: true, retryable, unreachable, cause: error });
    }
  }

  /** Whether a request of the owner may have left an entry that this client does not know. */
  isInDoubt(owner: OwnerId): boolean {
    return this.inDoubt.has(owner);
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
    const queue = await this.nodes.queue(key, { isFresh: true });
    let kept: OwnEntry | undefined;
    for (const { path, limit } of queue.entries.filter((entry) => entry.owner === owner)) {
      const mayStay = request !== undefined && kept === undefined && limit === request.limit;
      const read = mayStay ? await this.nodes.read(path) : undefined;
      if (mayStay && read !== undefined && this.nodes.clientNodes.isOfSession(read.stat)) {
        kept = this.add(request, path, read.data.state === 'waits');
      } else await this.nodes.remove(path);
    }
    this.inDoubt.delete(owner);
    return kept;
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]> {
    const replies = new Array<RenewReply | LockStoreError | undefined>(requests.length);
    const held: HeldRenewal[] = [];
    const work: Promise<void>[] = [];
    const now = this.nodes.client.now();
    requests.forEach((request, index) => {
      const entry = this.get(request.owner, request.key);
      const hold = entry?.hold;
      if (entry !== undefined && hold !== undefined && hold.endsAt > now) {
        const exactly = request.exactly === true;
        held.push({ index, entry, hold, lease: leaseToWrite(hold, request.lease, exactly, now), exactly });
        return;
      }
      work.push(
        this.renewUnknown(request, entry).then(
          (reply) => void (replies[index] = reply),
          (error: unknown) => void (replies[index] = storeFailure(error)),
        ),
      );
    });
    for (let first = 0; first < held.length; first += LARGEST_RENEWAL) {
      work.push(this.renewHeld(held.slice(first, first + LARGEST_RENEWAL), replies));
    }
    await Promise.all(work);
    return replies.map((reply) => reply ?? storeFailure('it got no reply'));
  }

  async reserve({ key, owner, lease, tokens }: ReserveRequest): Promise<ReserveReply> {
    const { nodes } = this;
    if (tokens > TOKENS_OF_ONE) throw new RangeError(`no more than ${TOKENS_OF_ONE} tokens at once`);
    const entry = this.get(owner, key);
    const hold = entry?.hold;
    const now = nodes.client.now();
    if (entry === undefined || hold === undefined || hold.endsAt <= now) {
      if (entry?.hold !== undefined) await this.remove(entry);
      return { outcome: await this.whyNotHeld(key, owner) };
    }
    // Writing begins a new lease in any case, since other clients can't know how much of the old one is left.
    const written = leaseToWrite(hold, lease, false, now);
    const [{ stat } = {}, queue] = await Promise.all([
      this.write({ entry, data: this.holdData(entry.request, hold, written) }),
      nodes.queue(key),
    ]);
    if (stat === undefined) return { outcome: await this.lost(entry) };
    if (lease > 0) this.extend(entry, hold, written);
    const token = nodes.clientNodes.tokenOf(stat.mzxid);
    return { outcome: 'reserved', token, othersWait: queue.othersWait(nodes.client.id) };
  }

  /** Releases a hold, or removes any other entry of the owner. */
  async release({ key, owner, inDoubt }: OwnerRequest): Promise<ReleaseReply> {
    const { nodes } = this;
    const entry = this.get(owner, key);
    if (entry === undefined) {
      if (clientOf(owner) !== nodes.client.id) {
        const path = await this.pathOfHolder(key, owner);
        return path !== undefined && (await nodes.removeOfAny(path)) ? 'released' : 'not-held';
      }
      if (inDoubt || this.isInDoubt(owner)) await this.recover(key, owner);
      return 'not-held';
    }
    const { hold } = entry;
    const isHeld = hold !== undefined && hold.endsAt > nodes.client.now();
    if (hold === undefined && !inDoubt) return 'not-held';
    const wasThere = await this.remove(entry);
    return isHeld && wasThere ? 'released' : 'not-held';
  }

  async cancel({ key, owner }: OwnerRequest): Promise<void> {
    const entry = this.get(owner, key);
    if (entry !== undefined) await this.remove(entry);
    else await this.recover(key, owner);
  }

  /** Writes what is left of the lease of a hold that will no longer be renewed. */
  async leaveToExpire({ path, request, hold }: OwnEntry): Promise<void> {
    if (hold === undefined) return;
    const now = this.nodes.client.now();
    const left = Math.max(1, Math.ceil(hold.endsAt - now));
    const lease = leaseToWrite(hold, left, true, now);
    await this.nodes.write({ path, data: this.holdData(request, hold, lease, true) });
  }

  private async renewHeld(
    held: readonly HeldRenewal[],
    replies: (RenewReply | LockStoreError | undefined)[],
  ): Promise<void> {
    const writes = held.map(({ entry, hold, lease, exactly }) => ({
      entry,
      data: hold.isKept && !exactly ? undefined : this.holdData(entry.request, hold, lease, exactly),
    }));
    try {
      if ((await this.write(...writes)) !== undefined) {
        for (const { index, entry, hold, lease } of held) {
          this.extend(entry, hold, lease);
          replies[index] = 'renewed';
        }
        return;
      }
      const [only] = held;
      if (held.length === 1 && only !== undefined) replies[only.index] = await this.lost(only.entry);
      else await Promise.all(held.map((one) => this.renewHeld([one], replies)));
    } catch (error) {
      for (const { index } of held) replies[index] = storeFailure(error);
    }
  }

  /** Renews a hold of another client, or replies for one that has ended or belongs to an earlier session. */
  private async renewUnknown(request: RenewRequest, entry: OwnEntry | undefined): Promise<RenewReply> {
    const { key, owner } = request;
    const isOwn = entry?.hold !== undefined || clientOf(owner) === this.nodes.client.id;
    if (entry?.hold !== undefined) await this.remove(entry);
    if (!isOwn && (await this.renewOfOther(request))) return 'renewed';
    return await this.whyNotHeld(key, owner);
  }

  private async renewOfOther({ key, owner, lease, exactly }: RenewRequest): Promise<boolean> {
    const { nodes } = this;
    const path = await this.pathOfHolder(key, owner);
    const read = path === undefined ? undefined : await nodes.read(path);
    const grant = read && grantIn(read.data, read.stat);
    if (path === undefined || read === undefined || grant === undefined) return false;
    const data: EntryData = {
      ...read.data,
      state: 'holds',
      lease: exactly === true ? lease : Math.max(lease, read.data.lease),
      isKept: exactly !== true && read.data.isKept,
      token: read.data.token ?? nodes.clientNodes.tokenOf(grant.zxid),
      since: read.data.since ?? grant.since,
    };
    return (await nodes.write({ path, data })) !== undefined;
  }

  private async pathOfHolder(key: string, owner: string): Promise<string | undefined> {
    const queue = await this.nodes.queue(key, { isFresh: true });
    return queue.holderOf(owner)?.path;
  }

  private async lost(entry: OwnEntry): Promise<'gone' | 'taken'> {
    this.forget(entry);
    return await this.whyNotHeld(entry.request.key, entry.request.owner);
  }

  private async whyNotHeld(key: string, owner: string): Promise<'gone' | 'taken'> {
    return (await this.nodes.queue(key, { isFresh: true })).whyNotHeld(owner);
  }

  dataFor(request: AcquireRequest, state: EntryData['state'], lease = request.lease): EntryData {
    const { claimLease, callers, label } = request;
    return { state, lease, isKept: this.isKept(lease), claim: claimLease, callers, label };
  }

  /**
   * The data of a hold whose lease begins anew.
   *
   * @param exactly whether to end the lease then even if the session continues
   */
  holdData(request: AcquireRequest, hold: OwnHold, lease: number, exactly = false): EntryData {
    const data = this.dataFor(request, 'holds', lease);
    const { token, since } = hold;
    return { ...data, isKept: !exactly && (hold.isKept || data.isKept), token, since };
  }

  /**
   * Writes that entries hold their locks, all or none; undefined if one is gone. None of them expires meanwhile: its
   * deletion would come after the write that makes its owner believe it holds the lock. Without data, a transaction
   * confirms that the entry exists: a reply of one server would not show that the others still have the session.
   *
   * @returns the stat of the first entry, if it was written
   */
  async write(
    ...writes: readonly { entry: OwnEntry; data: EntryData | undefined }[]
  ): Promise<{ readonly stat: Stat | undefined } | undefined> {
    for (const { entry } of writes) entry.writing += 1;
    try {
      const written = await this.nodes.write(...writes.map(({ entry: { path }, data }) => ({ path, data })));
      if (written === undefined) return undefined;
      for (const { entry, data } of writes) {
        if (entry.hold !== undefined && data !== undefined) entry.hold.isKept = data.isKept;
      }
      return written;
    } finally {
      for (const { entry } of writes) entry.writing -= 1;
    }
  }

  /** The entry acquired its lock by this transaction. */
  startHold(entry: OwnEntry, zxid: number, since: number, lease: number, isUnclaimed: boolean): OwnHold {
    const endsAt = later(this.nodes.client.now(), lease);
    entry.hold = {
      token: this.nodes.clientNodes.tokenOf(zxid),
      since: since as WallClockMs,
      endsAt,
      writtenUntil: endsAt,
      isUnclaimed,
      isKept: this.isKept(lease),
    };
    this.unwatch(entry);
    this.expireAt(entry, endsAt);
    return entry.hold;
  }

  /** A hold was renewed: its lease begins now. */
  extend(entry: OwnEntry, hold: OwnHold, lease: number): void {
    hold.endsAt = later(this.nodes.client.now(), lease);
    // A timer that fires too early is set again then: most leases are renewed long before their end.
    if (entry.expiry === undefined || hold.endsAt < entry.expiry.dueAt) this.expireAt(entry, hold.endsAt);
  }

  /** The owner of a waiting entry has made another request. */
  touch(entry: OwnEntry): void {
    this.expireAt(entry, later(this.nodes.client.now(), WAITER_TTL));
  }

  /**
   * Whether a hold with this lease lasts as long as its session, which the servers end early enough after its process
   * died, even for callers that come later. Shorter leases are measured by waiters.
   */
  private isKept(lease: number): boolean {
    return lease >= this.nodes.client.watchdogTimeout;
  }

  private expireAt(entry: OwnEntry, time: MonotonicMs): void {
    // It was released while its renewal was pending: deleting it again would be a transaction that fails.
    if (this.entries.get(entry.request.owner) !== entry) return;
    entry.expiry ??= new CallbackTimer(() => {
      const now = this.nodes.client.now();
      const endsAt = entry.hold?.endsAt;
      if (endsAt !== undefined && endsAt > now) this.expireAt(entry, endsAt);
      else if (entry.writing > 0) this.expireAt(entry, later(now, WRITE_PAUSE));
      else this.remove(entry).catch(() => undefined);
    });
    this.timers.set(entry.expiry, time);
  }

  private stopExpiry(entry: OwnEntry): void {
    if (entry.expiry !== undefined) this.timers.clear(entry.expiry);
    entry.expiry = undefined;
  }
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
