import { later } from '../../common/clock.js';
import { isOfSemaphore } from '../port/limits.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type Grant,
  type MonotonicMs,
} from '../port/lock-store.js';
import type { EntryData } from './entry-data.js';
import type { LockQueue, QueueEntry } from './lock-queue.js';
import type { HolderLeases } from './holder-leases.js';
import { UnwantedError, type OrderedDriver } from './ordered-driver.js';
import type { OwnEntries, OwnEntry, OwnHold, SeenQueue, SessionContext } from './own-entries.js';

/**
 * How often a waiter behind the front reads the queue, ms for each entry in it: relevant changes are reported by watches.
 */
const READ_EVERY = 50;

/** How often one request creates an entry, if the earlier one vanishes. */
const MOST_ATTEMPTS = 3;

/** How long an entry that conflicts with the one before it may take to leave the queue, ms, and how often to check. */
const LEAVE_TIMEOUT = 40;
const LOOK_EVERY = 8;

/** Acquires locks, and delivers grants to waiters. */
export class Acquirer {
  constructor(
    private readonly driver: OrderedDriver,
    private readonly own: OwnEntries,
    private readonly leases: HolderLeases,
    private readonly context: SessionContext,
  ) {}

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    try {
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const reply = await this.askOnce(request);
        if (reply !== undefined) return reply;
      }
    } catch (error) {
      if (error instanceof UnwantedError) {
        this.own.hasNothingOf(request.owner);
        return { outcome: 'cancelled' };
      }
      throw this.own.failed(error, request);
    }
    throw new LockStoreError('the store lost the queue entry of a waiter several times in a row', {
      inDoubt: false,
      retryable: true,
    });
  }

  /** See `DriverEvents.changed`. */
  onChanged(path: string, isGone: boolean): void {
    for (const entry of this.own.takeWatchers(path)) this.wake(entry, isGone).catch(() => undefined);
  }

  private async wake(entry: OwnEntry, isGone: boolean): Promise<void> {
    const { own } = this;
    const { owner } = entry.request;
    await own.turns.run(owner, async () => {
      if (own.get(owner) !== entry || entry.hold !== undefined) return;
      const { seen } = entry;
      if (!isGone && seen !== undefined && (await this.isUnchanged(entry, seen))) return;
      const reply = await this.evaluate(entry, true);
      // Its caller creates another entry.
      if (reply === undefined) this.context.client.pollNow();
    });
  }

  /** Undefined if the entry is gone. */
  private async askOnce(request: AcquireRequest): Promise<AcquireReply | undefined> {
    const { own } = this;
    const { client } = this.context;
    const { key, owner } = request;
    let entry = own.get(owner, key);
    if (entry?.hold !== undefined && entry.hold.endsAt <= client.now()) {
      await own.remove(entry);
      entry = undefined;
    }
    if (entry === undefined && own.isInDoubt(owner)) entry = await own.recover(key, owner, request);
    if (entry === undefined) return await this.join(request);
    if (entry.hold !== undefined) return await this.askHeld(entry, entry.hold, request);
    await this.update(entry, request);
    const { seen } = entry;
    const isRecent = seen !== undefined && client.now() < seen.readAgainAt;
    if (isRecent && request.wait && (await this.isUnchanged(entry, seen))) {
      own.touch(entry);
      return { outcome: 'queued', holderLeaseLeft: seen.holderLeaseLeft };
    }
    return await this.evaluate(entry, false);
  }

  private async join(request: AcquireRequest): Promise<AcquireReply | undefined> {
    const { wait, contended } = request;
    if (contended && !wait) {
      const refusal = await this.refusalOf(request);
      if (refusal !== undefined) return refusal;
    }
    let data: EntryData | undefined;
    const { path, isHolder, created, share, queue } = await this.driver.join(
      request,
      (state) => (data = this.own.dataFor(request, state)),
    );
    if (path === undefined) return await this.refusalOf(request, queue);
    const entry = this.own.add(request, path, data?.state === 'waits');
    if (!isHolder || data === undefined) return await this.evaluate(entry, false, queue);
    const hold = this.own.startHold(entry, created, data, false, share);
    return { outcome: 'granted', ...this.grantOf(entry, hold, queue) };
  }

  /**
   * The reply to a caller that does not wait, if the lock is not free for it; undefined if it is.
   *
   * @param known the queue, if it was read just now
   */
  private async refusalOf(request: AcquireRequest, known?: LockQueue): Promise<AcquireReply | undefined> {
    let queue = known ?? (await this.driver.queue(request.key, { isFresh: true }));
    for (;;) {
      const conflict = queue.conflictWith(request.limit);
      if (conflict === undefined) {
        if (queue.hasRoom(request)) return undefined;
        return { outcome: 'busy', holderLeaseLeft: await this.leases.leaseLeft(queue, request) };
      }
      if (!(await this.firstLeaves(queue))) return { outcome: 'conflict', limit: conflict };
      queue = await this.driver.queue(request.key, { isFresh: true });
    }
  }

  /** The owner requests again a lock that it holds. */
  private async askHeld(
    entry: OwnEntry,
    hold: OwnHold,
    request: AcquireRequest,
  ): Promise<AcquireReply | undefined> {
    entry.request = request;
    const written = await this.own.writeAndRead(entry, hold, request);
    if (written === undefined) {
      this.own.forget(entry);
      return undefined;
    }
    // Tokens that were reserved with the grant may be in use.
    return { outcome: 'granted', ...this.grantOf(entry, hold, written.queue), tokens: 1 };
  }

  /** Updates the visible data of a waiter, if it has changed. */
  private async update(entry: OwnEntry, request: AcquireRequest): Promise<void> {
    const { callers, label, lease, claimLease } = entry.request;
    const isSame =
      callers === request.callers &&
      label === request.label &&
      lease === request.lease &&
      claimLease === request.claimLease;
    // If the write fails, the next request repeats it.
    if (!isSame) await this.markWaiting(entry, request);
    entry.request = request;
  }

  /** Returns whether the entry exists. */
  private async markWaiting(entry: OwnEntry, request = entry.request): Promise<boolean> {
    const { claimLease } = request;
    entry.claimLease = Math.min(entry.claimLease, claimLease);
    const write = { entry, data: this.own.dataFor(request, 'waits') };
    const written = await this.driver.write(this.own.writeOf(write));
    entry.claimLease = claimLease;
    entry.isMarkedWaiting = true;
    return written !== undefined;
  }

  /**
   * Reads the queue and decides what follows for an entry that is not known to hold the lock; undefined if it is gone.
   *
   * @param isPushed whether no request is pending, so that a grant is pushed
   * @param known the queue, if it was read just now
   */
  private async evaluate(
    entry: OwnEntry,
    isPushed: boolean,
    known?: LockQueue,
  ): Promise<AcquireReply | undefined> {
    const { own, leases } = this;
    const { path, request } = entry;
    const { limit } = request;
    const mayWatch = isOfSemaphore(limit) && request.wait;
    // A waiter that was not at the front before seldom is now.
    let isWatched = mayWatch && known === undefined && entry.seen === undefined;
    let queue = known ?? (await this.queueOf(entry, isWatched, !isPushed));
    entry.seen = undefined;
    for (; ; queue = await this.queueOf(entry, isWatched, !isPushed)) {
      const index = queue.indexOf(path);
      if (index === -1) {
        own.forget(entry);
        return undefined;
      }
      const conflict = queue.conflictWith(limit);
      if (conflict !== undefined) {
        if (await this.firstLeaves(queue)) continue;
        await own.remove(entry);
        return { outcome: 'conflict', limit: conflict };
      }
      if (index < queue.holderCount) return await this.claim(entry, queue, isPushed);
      if (!request.wait) {
        const [left] = await Promise.all([leases.leaseLeft(queue, request), own.remove(entry)]);
        return { outcome: 'busy', holderLeaseLeft: left };
      }
      const isFront = queue.isFront(index);
      if (mayWatch && isFront && !isWatched) {
        isWatched = true;
        continue;
      }
      entry.waitedAt = queue.readAt ?? entry.waitedAt;
      const predecessor = queue.predecessorOf(index);
      if (predecessor === undefined || !(await this.waitBehind(entry, predecessor, queue, isFront))) continue;
      if (!isPushed) own.touch(entry);
      const holderLeaseLeft = await leases.leaseLeft(queue, request, queue.readsAllHolders(index));
      if (!isFront) {
        entry.seen = {
          predecessor: predecessor.path,
          isPredecessorHolder: queue.holds(predecessor.path),
          holderLeaseLeft,
          readAgainAt: later(this.context.client.now(), queue.entries.length * READ_EVERY),
        };
      }
      return { outcome: 'queued', holderLeaseLeft };
    }
  }

  /** @param watch for the first waiters of a semaphore: any entry that leaves may make room for them */
  private queueOf(entry: OwnEntry, watch: boolean, isFresh: boolean): Promise<LockQueue> {
    const { key } = entry.request;
    if (watch) this.own.watch(key, entry);
    return this.driver.queue(key, { watch, isFresh });
  }

  /**
   * The entry holds the lock. The lease begins now, and the token is that of the write that says so.
   *
   * If a read has shown, recently and with everything committed before, that it did not hold an exclusive lock yet, no
   * other client counts a lease from before that read. So the lease may begin then, and the token is that of the read of
   * the queue: the write may follow later. The lease begins earlier if it might
   * otherwise outlast the session.
   */
  private async claim(
    entry: OwnEntry,
    queue: LockQueue,
    isPushed: boolean,
  ): Promise<AcquireReply | undefined> {
    const { own } = this;
    const { client } = this.context;
    const { request, waitedAt = -Infinity } = entry;
    const { owner, limit, claimLease } = request;
    const startedAt = client.now();
    const leaseFrom = Math.min(waitedAt, (this.driver.lastsUntil ?? -Infinity) - claimLease) as MonotonicMs;
    // Other clients end the hold after the claim lease that they read.
    const isClaimWritten = entry.claimLease >= claimLease;
    if (isPushed && limit === 1 && isClaimWritten && startedAt - leaseFrom < claimLease / 2) {
      const hold = own.startUnwritten(entry, queue.revision);
      const grant = this.grantOf(entry, hold, queue);
      client.granted(owner, { ...grant, startedAt: leaseFrom, lease: claimLease, turnFrom: startedAt });
      return { outcome: 'granted', ...grant };
    }
    const lease = isPushed ? claimLease : request.lease;
    const data = own.dataFor(request, 'holds', lease);
    const written = await own.write({ entry, data });
    if (written === undefined) {
      own.forget(entry);
      return undefined;
    }
    const hold = own.startHold(entry, written.revision, data, isPushed);
    const grant = this.grantOf(entry, hold, queue);
    if (isPushed) client.granted(owner, { ...grant, startedAt, lease });
    return { outcome: 'granted', ...grant };
  }

  /** Watches the predecessor; false if that entry, or its own, is gone by now. */
  private async waitBehind(
    entry: OwnEntry,
    predecessor: QueueEntry,
    queue: LockQueue,
    isFront: boolean,
  ): Promise<boolean> {
    const { own, driver } = this;
    const { path } = predecessor;
    if (!entry.isMarkedWaiting && !(await this.markWaiting(entry))) return false;
    if (!isOfSemaphore(entry.request.limit)) {
      own.watch(path, entry);
      const isWatched = await driver.watchEnd(predecessor, queue);
      if (!isWatched) own.unwatch(entry, [path]);
      return isWatched;
    }
    if (isFront) return true;
    // Once the predecessor holds a permit, this entry may be at the front.
    own.watch(path, entry);
    const read = await driver.read(queue.key, path, true);
    if (read === undefined) own.unwatch(entry, [path]);
    return read !== undefined && read.data.state !== 'holds';
  }

  /** Whether nothing has changed for a waiter behind the front, judging by its own entry and its predecessor's. */
  private async isUnchanged(
    entry: OwnEntry,
    { predecessor, isPredecessorHolder }: SeenQueue,
  ): Promise<boolean> {
    const { key, limit } = entry.request;
    const watch = isOfSemaphore(limit);
    if (watch) this.own.watch(predecessor, entry);
    const [own, read] = await Promise.all([
      this.driver.read(key, entry.path),
      this.driver.read(key, predecessor, watch),
    ]);
    if (read === undefined) this.own.unwatch(entry, [predecessor]);
    if (own === undefined || read === undefined) return false;
    const isUnchanged = isPredecessorHolder || read.data.state !== 'holds';
    if (isUnchanged) entry.waitedAt = read.readAt;
    return isUnchanged;
  }

  /**
   * Whether the first entry leaves within a moment. One that was not written since it was created may not have noticed
   * yet that it conflicts with an earlier entry: no caller is refused because of it.
   */
  private async firstLeaves({ key, entries: [first] }: LockQueue): Promise<boolean> {
    if (first === undefined) return true;
    for (let waited = 0; ; waited += LOOK_EVERY) {
      const read = await this.driver.read(key, first.path);
      if (read === undefined) return true;
      if (read.writes > 0 || waited >= LEAVE_TIMEOUT) return false;
      await this.context.timers.within(LOOK_EVERY, new Promise<never>(() => undefined));
    }
  }

  private grantOf(entry: OwnEntry, hold: OwnHold, queue: LockQueue): Grant {
    const { token, since } = hold;
    const tokens = Math.min(entry.request.tokens, hold.tokens);
    return { token, since, tokens, othersWait: queue.othersWait(this.context.client.id) };
  }
}
