import { later } from '../../../common/clock.js';
import type { TimerQueue } from '../../../common/timer-queue.js';
import { isOfSemaphore } from '../../port/limits.js';
import { LockStoreError, type AcquireReply, type AcquireRequest, type Grant } from '../../port/lock-store.js';
import { EVENT, type WatchEvent } from '../connection/zookeeper-socket.js';
import { TOKENS_OF_ONE } from './client-nodes.js';
import type { NodeQueue, QueueEntry } from './layout.js';
import type { LockNodes } from './lock-nodes.js';
import { leaseToWrite, type OwnEntries, type OwnEntry, type OwnHold, type SeenQueue } from './own-entries.js';

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
export class LockAcquirer {
  constructor(
    private readonly nodes: LockNodes,
    private readonly own: OwnEntries,
    private readonly timers: TimerQueue,
  ) {}

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    try {
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const reply = await this.askOnce(request);
        if (reply !== undefined) return reply;
      }
    } catch (error) {
      throw this.own.failed(error, request);
    }
    throw new LockStoreError('ZooKeeper lost the queue entry of a waiter several times in a row', {
      inDoubt: false,
      retryable: true,
    });
  }

  nodeChanged({ type, path }: WatchEvent): void {
    for (const entry of this.own.takeWatchers(path))
      this.wake(entry, type === EVENT.dataChanged).catch(() => undefined);
  }

  /** @param isDataOnly whether the watched node still exists */
  private async wake(entry: OwnEntry, isDataOnly: boolean): Promise<void> {
    const { own, nodes } = this;
    const { owner } = entry.request;
    await own.turns.run(owner, async () => {
      if (own.get(owner) !== entry || entry.hold !== undefined) return;
      const { seen } = entry;
      if (isDataOnly && seen !== undefined && (await this.isUnchanged(entry, seen))) return;
      const reply = await this.evaluate(entry, true);
      // Its caller creates another entry.
      if (reply === undefined) nodes.client.pollNow();
    });
  }

  /** Undefined if the entry is gone. */
  private async askOnce(request: AcquireRequest): Promise<AcquireReply | undefined> {
    const { own, nodes } = this;
    const { key, owner } = request;
    let entry = own.get(owner, key);
    if (entry?.hold !== undefined && entry.hold.endsAt <= nodes.client.now()) {
      await own.remove(entry);
      entry = undefined;
    }
    if (entry === undefined && own.isInDoubt(owner)) entry = await own.recover(key, owner, request);
    if (entry === undefined) return await this.join(request);
    if (entry.hold !== undefined) return await this.askHeld(entry, entry.hold, request);
    await this.update(entry, request);
    const { seen } = entry;
    const isRecent = seen !== undefined && nodes.client.now() < seen.readAgainAt;
    if (isRecent && request.wait && (await this.isUnchanged(entry, seen))) {
      own.touch(entry);
      return { outcome: 'queued', holderLeaseLeft: seen.holderLeaseLeft };
    }
    return await this.evaluate(entry, false);
  }

  private async join(request: AcquireRequest): Promise<AcquireReply | undefined> {
    const { wait, contended, lease } = request;
    if (contended && !wait) {
      const refusal = await this.refusalOf(request);
      if (refusal !== undefined) return refusal;
    }
    const data = this.own.dataFor(request, contended ? 'waits' : 'free');
    const { path, queue, stat } = await this.nodes.join(request, data);
    const entry = this.own.add(request, path, contended);
    // The queue has not changed since the entry was created, so it has held the lock since then.
    if (!contended && queue.changedAt === stat.czxid && queue.indexOf(entry.path) < queue.holderCount) {
      const hold = this.own.startHold(entry, stat.czxid, stat.ctime, lease, false);
      return { outcome: 'granted', ...this.grantOf(entry, hold, queue) };
    }
    return await this.evaluate(entry, false, queue);
  }

  /** The reply to a caller that does not wait, if the lock is not free for it; undefined if it is. */
  private async refusalOf(request: AcquireRequest): Promise<AcquireReply | undefined> {
    for (;;) {
      const queue = await this.nodes.queue(request.key, { isFresh: true });
      const conflict = queue.conflictWith(request.limit);
      if (conflict === undefined) {
        if (queue.hasRoom(request)) return undefined;
        return { outcome: 'busy', holderLeaseLeft: await this.nodes.leaseLeft(queue, request) };
      }
      if (!(await this.firstLeaves(queue))) return { outcome: 'conflict', limit: conflict };
    }
  }

  /** The owner requests again a lock that it holds. */
  private async askHeld(
    entry: OwnEntry,
    hold: OwnHold,
    request: AcquireRequest,
  ): Promise<AcquireReply | undefined> {
    const { nodes, own } = this;
    const lease = leaseToWrite(hold, request.lease, false, nodes.client.now());
    entry.request = request;
    const [written, queue] = await Promise.all([
      own.write({ entry, data: own.holdData(request, hold, lease) }),
      nodes.queue(request.key),
    ]);
    if (written === undefined) {
      own.forget(entry);
      return undefined;
    }
    own.extend(entry, hold, lease);
    // Tokens that were reserved with the grant may be in use.
    return { outcome: 'granted', ...this.grantOf(entry, hold, queue), tokens: 1 };
  }

  /** Updates the visible data of a waiter, if it has changed. */
  private async update(entry: OwnEntry, request: AcquireRequest): Promise<void> {
    const { callers, label, lease, claimLease } = entry.request;
    entry.request = request;
    const isSame =
      callers === request.callers &&
      label === request.label &&
      lease === request.lease &&
      claimLease === request.claimLease;
    if (!isSame) await this.markWaiting(entry);
  }

  /** Returns whether the entry exists. */
  private async markWaiting(entry: OwnEntry): Promise<boolean> {
    entry.isMarkedWaiting = true;
    const data = this.own.dataFor(entry.request, 'waits');
    return (await this.nodes.write({ path: entry.path, data })) !== undefined;
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
    known?: NodeQueue,
  ): Promise<AcquireReply | undefined> {
    const { nodes, own } = this;
    const { path, request } = entry;
    const { limit } = request;
    const mayWatch = isOfSemaphore(limit) && request.wait;
    // A waiter that was not at the front before seldom is now.
    let isWatched = mayWatch && known === undefined && entry.seen === undefined;
    let queue = known ?? (await this.queueOf(entry, isWatched));
    entry.seen = undefined;
    for (; ; queue = await this.queueOf(entry, isWatched)) {
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
        const [left] = await Promise.all([nodes.leaseLeft(queue, request), own.remove(entry)]);
        return { outcome: 'busy', holderLeaseLeft: left };
      }
      const isFront = queue.isFront(index);
      if (mayWatch && isFront && !isWatched) {
        isWatched = true;
        continue;
      }
      const predecessor = queue.predecessorOf(index);
      if (predecessor === undefined || !(await this.waitBehind(entry, predecessor, isFront))) continue;
      if (!isPushed) own.touch(entry);
      const holderLeaseLeft = await nodes.leaseLeft(queue, request, queue.readsAllHolders(index));
      if (!isFront) {
        entry.seen = {
          predecessor: predecessor.path,
          isPredecessorHolder: queue.indexOf(predecessor.path) < queue.holderCount,
          holderLeaseLeft,
          readAgainAt: later(nodes.client.now(), queue.entries.length * READ_EVERY),
        };
      }
      return { outcome: 'queued', holderLeaseLeft };
    }
  }

  /** @param watch for the first waiters of a semaphore: any entry that leaves may make room for them */
  private queueOf(entry: OwnEntry, watch: boolean): Promise<NodeQueue> {
    const { key } = entry.request;
    if (watch) this.own.watch(this.nodes.paths.ofKey(key), entry);
    return this.nodes.queue(key, { watch });
  }

  /** Writes that the entry holds the lock. Its lease begins then, and its token is that of this transaction. */
  private async claim(
    entry: OwnEntry,
    queue: NodeQueue,
    isPushed: boolean,
  ): Promise<AcquireReply | undefined> {
    const { own } = this;
    const { client } = this.nodes;
    const { request } = entry;
    const lease = isPushed ? request.claimLease : request.lease;
    const startedAt = client.now();
    const stat = (await own.write({ entry, data: own.dataFor(request, 'holds', lease) }))?.stat;
    if (stat === undefined) {
      own.forget(entry);
      return undefined;
    }
    const hold = own.startHold(entry, stat.mzxid, stat.mtime, lease, isPushed);
    const grant = this.grantOf(entry, hold, queue);
    if (isPushed) client.granted(request.owner, { ...grant, startedAt, lease });
    return { outcome: 'granted', ...grant };
  }

  /** Watches the predecessor; false if that entry, or its own, is gone by now. */
  private async waitBehind(entry: OwnEntry, { path }: QueueEntry, isFront: boolean): Promise<boolean> {
    if (!entry.isMarkedWaiting && !(await this.markWaiting(entry))) return false;
    if (!isOfSemaphore(entry.request.limit)) {
      this.own.watch(path, entry);
      const isWatched = await this.nodes.watchEnd(path);
      if (!isWatched) this.own.unwatch(entry, [path]);
      return isWatched;
    }
    if (isFront) return true;
    // Once the predecessor holds a permit, this entry may be at the front.
    this.own.watch(path, entry);
    const read = await this.nodes.read(path, true);
    if (read === undefined) this.own.unwatch(entry, [path]);
    return read !== undefined && read.data.state !== 'holds';
  }

  /** Whether nothing has changed for a waiter behind the front, judging by its own entry and its predecessor's. */
  private async isUnchanged(
    entry: OwnEntry,
    { predecessor, isPredecessorHolder }: SeenQueue,
  ): Promise<boolean> {
    const watch = isOfSemaphore(entry.request.limit);
    if (watch) this.own.watch(predecessor, entry);
    const [own, read] = await Promise.all([
      this.nodes.statOf(entry.path),
      this.nodes.read(predecessor, watch),
    ]);
    if (read === undefined) this.own.unwatch(entry, [predecessor]);
    return own !== undefined && read !== undefined && (isPredecessorHolder || read.data.state !== 'holds');
  }

  /**
   * Whether the first entry leaves within a moment. One that was not written since it was created may not have noticed
   * yet that it conflicts with an earlier entry: no caller is refused because of it.
   */
  private async firstLeaves({ entries: [first] }: NodeQueue): Promise<boolean> {
    if (first === undefined) return true;
    for (let waited = 0; ; waited += LOOK_EVERY) {
      const read = await this.nodes.read(first.path);
      if (read === undefined) return true;
      if (read.stat.version > 0 || waited >= LEAVE_TIMEOUT) return false;
      await this.timers.within(LOOK_EVERY, new Promise<never>(() => undefined));
    }
  }

  private grantOf(entry: OwnEntry, { token, since }: OwnHold, queue: NodeQueue): Grant {
    const tokens = Math.min(entry.request.tokens, TOKENS_OF_ONE);
    return { token, since, tokens, othersWait: queue.othersWait(this.nodes.client.id) };
  }
}
