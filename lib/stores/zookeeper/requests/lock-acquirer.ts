import { LockStoreError, type AskReply, type AskRequest, type Grant } from '../../port/lock-store.js';
import { isOfSemaphore } from '../../port/limits.js';
import { zooKeeperFailure } from '../connection/zookeeper-failure.js';
import type { Line } from '../locks/line.js';
import type { OwnHold, OwnPlace, OwnPlaces } from '../locks/own-places.js';
import { TOKENS_OF_ONE } from '../locks/tokens.js';
import type { Holders } from './holders.js';
import type { LockNodes } from './lock-nodes.js';
import type { PlaceLifetimes } from './place-lifetimes.js';
import { dataOf, holdingData, leaseToWrite, newPlace } from './place-words.js';
import type { Watches } from './watches.js';

/** How often an owner gets a new place in one request, should the one that it had vanish. */
const MOST_ATTEMPTS = 3;

/** Asks for locks, and brings grants to those who wait. */
export class LockAcquirer {
  constructor(
    private readonly nodes: LockNodes,
    private readonly own: OwnPlaces,
    private readonly holders: Holders,
    private readonly watches: Watches,
    private readonly lifetimes: PlaceLifetimes,
  ) {}

  async ask(request: AskRequest): Promise<AskReply> {
    try {
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const reply = await this.askOnce(request);
        if (reply !== undefined) return reply;
      }
    } catch (error) {
      const failure = zooKeeperFailure(error);
      this.own.onFailure(failure, [request]);
      throw failure;
    }
    throw new LockStoreError('ZooKeeper lost the place of a waiter again and again', {
      inDoubt: false,
      retryable: true,
    });
  }

  /** Something has changed in the line before a place. */
  async wake(place: OwnPlace): Promise<void> {
    const { own, nodes } = this;
    await own.turns.run(place.owner, async () => {
      if (own.get(place.owner, place.key) !== place || place.hold !== undefined) return;
      const reply = await this.settle(place, await this.lineFor(place), true);
      // Whoever took its place away did not ask: its caller gets another one.
      if (reply === undefined) nodes.client.askAgain();
    });
  }

  /** Undefined if its place is gone. */
  private async askOnce(request: AskRequest): Promise<AskReply | undefined> {
    const { own, nodes } = this;
    const { key, owner } = request;
    let place = own.get(owner, key);
    if (place?.hold !== undefined && place.hold.endsAt <= nodes.client.now()) {
      await this.lifetimes.leave(place);
      place = undefined;
    }
    if (place === undefined && own.resolve(owner)) {
      try {
        place = await this.lifetimes.find(key, owner, request);
      } catch (error) {
        own.doubt(owner);
        throw error;
      }
    }
    if (place === undefined) return await this.join(request);
    if (place.hold !== undefined) return await this.askHeld(place, place.hold, request);
    await this.keepUpToDate(place, request);
    return await this.settle(place, await this.lineFor(place), false);
  }

  private async join(request: AskRequest): Promise<AskReply | undefined> {
    const { key, owner, limit, wait, contended } = request;
    if (contended && !wait) {
      const busy = await this.refusal(request);
      if (busy !== undefined) return busy;
    }
    const state = contended ? 'waits' : 'free';
    const { created, lines } = await this.nodes.join([{ key, owner, limit, data: dataOf(request, state) }]);
    const [node] = created;
    const [line] = lines;
    if (node === undefined || line === undefined) throw new Error('nothing was created');
    const name = node.path.slice(node.path.lastIndexOf('/') + 1);
    const place = newPlace(request, name, node.path, contended);
    this.own.add(place);
    // Nobody came or went since it was created: it holds the lock since then.
    if (!contended && line.changedAt === node.stat.czxid && line.indexOf(name) < line.held) {
      const hold = this.lifetimes.hold(place, node.stat.czxid, node.stat.ctime, request.lease, false);
      return { outcome: 'granted', ...this.grantOf(place, hold, line) };
    }
    return await this.settle(place, line, false);
  }

  /** What whoever does not wait is told without getting a place. */
  private async refusal({ key, limit }: AskRequest): Promise<AskReply | undefined> {
    let line = await this.nodes.line(key, { isFresh: true });
    for (
      let conflict = line.conflictWith(limit);
      conflict !== undefined;
      conflict = line.conflictWith(limit)
    ) {
      if (!(await this.holders.firstLeaves(key, line))) return { outcome: 'conflict', limit: conflict };
      line = await this.nodes.line(key, { isFresh: true });
    }
    if (line.hasRoom(limit)) return undefined;
    return { outcome: 'busy', holderLeaseLeft: await this.holders.leaseLeft(key, line, limit) };
  }

  private async askHeld(place: OwnPlace, hold: OwnHold, request: AskRequest): Promise<AskReply | undefined> {
    const { nodes } = this;
    const lease = leaseToWrite(hold, request.lease, false, nodes.client.now());
    place.request = request;
    const [stat, line] = await Promise.all([
      this.lifetimes.write({ place, data: holdingData(place, hold, lease) }),
      nodes.line(place.key),
    ]);
    if (stat === undefined) {
      this.lifetimes.forget(place);
      return undefined;
    }
    this.lifetimes.prolong(place, hold, lease);
    // Tokens that were reserved with the grant are not told again: they may be in use.
    return { outcome: 'granted', ...this.grantOf(place, hold, line), tokens: 1 };
  }

  /** What others may see of a waiter. */
  private async keepUpToDate(place: OwnPlace, request: AskRequest): Promise<void> {
    const { callers, label, lease, claimLease } = place.request;
    place.request = request;
    if (
      callers === request.callers &&
      label === request.label &&
      lease === request.lease &&
      claimLease === request.claimLease
    )
      return;
    place.isMarkedWaiting = true;
    await this.nodes.write({ path: place.path, data: dataOf(request, 'waits') });
  }

  /** Who waits for a share has to hear of whoever goes. */
  private lineFor(place: OwnPlace): Promise<Line> {
    const watch = isOfSemaphore(place.limit) && place.request.wait;
    if (watch) this.watches.add(this.nodes.paths.ofKey(place.key), place);
    return this.nodes.line(place.key, { watch });
  }

  /**
   * What follows from the line for a place that is not known to hold the lock; undefined if it is gone.
   *
   * @param isPushed whether nobody has asked, so that a grant is brought
   */
  private async settle(place: OwnPlace, first: Line, isPushed: boolean): Promise<AskReply | undefined> {
    for (let line = first, isWatched = false; ; line = await this.lineFor(place), isWatched = true) {
      const index = line.indexOf(place.name);
      if (index === -1) {
        this.lifetimes.forget(place);
        return undefined;
      }
      const conflict = line.conflictWith(place.limit);
      if (conflict !== undefined) {
        if (await this.holders.firstLeaves(place.key, line)) continue;
        await this.lifetimes.leave(place);
        return { outcome: 'conflict', limit: conflict };
      }
      if (index < line.held) return await this.claim(place, line, isPushed);
      if (!place.request.wait) return await this.goAway(place, line);
      if (isOfSemaphore(place.limit) && !isWatched) continue;
      if (await this.standBehind(place, line, index)) {
        if (!isPushed) this.lifetimes.heardOf(place);
        const holderLeaseLeft = await this.holders.leaseLeft(place.key, line, place.limit);
        return { outcome: 'queued', holderLeaseLeft };
      }
    }
  }

  /** Says that it holds the lock: from then on the lease counts, and the token is that of this transaction. */
  private async claim(place: OwnPlace, line: Line, isPushed: boolean): Promise<AskReply | undefined> {
    const { client } = this.nodes;
    const { request } = place;
    const lease = isPushed ? request.claimLease : request.lease;
    const startedAt = client.now();
    const stat = await this.lifetimes.write({ place, data: dataOf(request, 'holds', lease) });
    if (stat === undefined) {
      this.lifetimes.forget(place);
      return undefined;
    }
    const hold = this.lifetimes.hold(place, stat.mzxid, stat.mtime, lease, isPushed);
    const grant = this.grantOf(place, hold, line);
    if (isPushed) client.granted(place.owner, { ...grant, startedAt, lease });
    return { outcome: 'granted', ...grant };
  }

  private async goAway(place: OwnPlace, line: Line): Promise<AskReply> {
    const [left] = await Promise.all([
      this.holders.leaseLeft(place.key, line, place.limit),
      this.lifetimes.leave(place),
    ]);
    return { outcome: 'busy', holderLeaseLeft: left };
  }

  /** Watches whom it waits for; false if that one has gone meanwhile. */
  private async standBehind(place: OwnPlace, line: Line, index: number): Promise<boolean> {
    if (!place.isMarkedWaiting) {
      place.isMarkedWaiting = true;
      const stat = await this.nodes.write({ path: place.path, data: dataOf(place.request, 'waits') });
      if (stat === undefined) return false;
    }
    const target = line.before(index);
    if (target === undefined) return isOfSemaphore(place.limit);
    const path = this.nodes.pathOf(place.key, target.name);
    this.watches.add(path, place);
    return (await this.nodes.read(path, true)) !== undefined;
  }

  private grantOf(place: OwnPlace, { token, since }: OwnHold, line: Line): Grant {
    const tokens = Math.min(place.request.tokens, TOKENS_OF_ONE);
    return { token, since, tokens, othersWait: line.othersWait(this.nodes.client.id) };
  }
}
