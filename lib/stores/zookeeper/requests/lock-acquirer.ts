import { later } from '../../../common/clock.js';
import { LockStoreError, type AskReply, type AskRequest, type Grant } from '../../port/lock-store.js';
import { isOfSemaphore } from '../../port/limits.js';
import { zooKeeperFailure } from '../connection/zookeeper-failure.js';
import type { Line, Place } from '../locks/line.js';
import type { OwnHold, OwnPlace, OwnPlaces, Standing } from '../locks/own-places.js';
import { TOKENS_OF_ONE } from '../locks/tokens.js';
import type { Holders } from './holders.js';
import type { LockNodes } from './lock-nodes.js';
import type { PlaceLifetimes } from './place-lifetimes.js';
import { dataOf, holdingData, leaseToWrite, newPlace } from './place-words.js';
import type { Watches } from './watches.js';

/**
 * How often a waiter that is not among the first reads the line, ms for each place in it: watches tell it what it has to know,
 * and lines are read by all who stand in them.
 */
const READ_EVERY = 50;

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

  /**
   * Something has changed in the line before a place.
   *
   * @param isDataOnly whether the node that it watches is still there
   */
  async wake(place: OwnPlace, isDataOnly = false): Promise<void> {
    const { own, nodes } = this;
    await own.turns.run(place.owner, async () => {
      if (own.get(place.owner, place.key) !== place || place.hold !== undefined) return;
      const { standing } = place;
      if (isDataOnly && standing !== undefined && (await this.standsStill(place, standing))) return;
      const reply = await this.settle(place, true);
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
    const { standing } = place;
    const isRecent = standing !== undefined && nodes.client.now() < standing.readAgainAt;
    if (isRecent && request.wait && (await this.standsStill(place, standing))) {
      this.lifetimes.heardOf(place);
      return { outcome: 'queued', holderLeaseLeft: standing.holderLeaseLeft };
    }
    return await this.settle(place, false);
  }

  private async join(request: AskRequest): Promise<AskReply | undefined> {
    const { key, owner, limit, wait, contended } = request;
    if (contended && !wait) {
      const busy = await this.refusal(request);
      if (busy !== undefined) return busy;
    }
    const state = contended ? 'waits' : 'free';
    const { created, lines } = await this.nodes.join([
      { key, owner, limit, data: dataOf(this.nodes, request, state) },
    ]);
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
    return await this.settle(place, false, line);
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
      this.lifetimes.write({ place, data: holdingData(nodes, place, hold, lease) }),
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
    await this.nodes.write({ path: place.path, data: dataOf(this.nodes, request, 'waits') });
  }

  /** @param watch of the first waiters of a semaphore: any place that goes may make room for them */
  private lineFor(place: OwnPlace, watch: boolean): Promise<Line> {
    if (watch) this.watches.add(this.nodes.paths.ofKey(place.key), place);
    return this.nodes.line(place.key, { watch });
  }

  /** Whether nothing has changed for a waiter that is not among the first: a look at its own node and the one before it. */
  private async standsStill(place: OwnPlace, { target, isTargetHolder }: Standing): Promise<boolean> {
    const watch = isOfSemaphore(place.limit);
    if (watch) this.watches.add(target, place);
    const [own, read] = await Promise.all([this.nodes.statOf(place.path), this.nodes.read(target, watch)]);
    return own !== undefined && read !== undefined && (isTargetHolder || read.data.state !== 'holds');
  }

  /**
   * What follows from the line for a place that is not known to hold the lock; undefined if it is gone.
   *
   * @param isPushed whether nobody has asked, so that a grant is brought
   * @param known the line, if it was read just now
   */
  private async settle(place: OwnPlace, isPushed: boolean, known?: Line): Promise<AskReply | undefined> {
    const { key, name, limit, request } = place;
    const mayWatch = isOfSemaphore(limit) && request.wait;
    // If it was not among the first when it read the line before, it seldom is now.
    let isWatched = mayWatch && known === undefined && place.standing === undefined;
    let line = known ?? (await this.lineFor(place, isWatched));
    place.standing = undefined;
    for (; ; line = await this.lineFor(place, isWatched)) {
      const index = line.indexOf(name);
      if (index === -1) {
        this.lifetimes.forget(place);
        return undefined;
      }
      const conflict = line.conflictWith(limit);
      if (conflict !== undefined) {
        if (await this.holders.firstLeaves(key, line)) continue;
        await this.lifetimes.leave(place);
        return { outcome: 'conflict', limit: conflict };
      }
      if (index < line.held) return await this.claim(place, line, isPushed);
      if (!request.wait) return await this.goAway(place, line);
      const isFront = line.isFront(index);
      if (mayWatch && isFront && !isWatched) {
        isWatched = true;
        continue;
      }
      const target = line.before(index);
      if (target === undefined || !(await this.standBehind(place, target, isFront))) continue;
      if (!isPushed) this.lifetimes.heardOf(place);
      const holderLeaseLeft = await this.holders.leaseLeft(key, line, limit, isFront);
      if (!isFront) {
        place.standing = {
          target: this.nodes.pathOf(key, target.name),
          isTargetHolder: line.indexOf(target.name) < line.held,
          holderLeaseLeft,
          readAgainAt: later(this.nodes.client.now(), line.places.length * READ_EVERY),
        };
      }
      return { outcome: 'queued', holderLeaseLeft };
    }
  }

  /** Says that it holds the lock: from then on the lease counts, and the token is that of this transaction. */
  private async claim(place: OwnPlace, line: Line, isPushed: boolean): Promise<AskReply | undefined> {
    const { client } = this.nodes;
    const { request } = place;
    const lease = isPushed ? request.claimLease : request.lease;
    const startedAt = client.now();
    const data = dataOf(this.nodes, request, 'holds', lease);
    const stat = (await this.lifetimes.write({ place, data }))?.stat;
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

  /** Watches the place before; false if that one, or its own, has gone meanwhile. */
  private async standBehind(place: OwnPlace, before: Place, isFront: boolean): Promise<boolean> {
    if (!place.isMarkedWaiting) {
      place.isMarkedWaiting = true;
      const stat = await this.nodes.write({
        path: place.path,
        data: dataOf(this.nodes, place.request, 'waits'),
      });
      if (stat === undefined) return false;
    }
    const path = this.nodes.pathOf(place.key, before.name);
    if (!isOfSemaphore(place.limit)) {
      this.watches.add(path, place);
      return await this.nodes.watchEnd(path);
    }
    if (isFront) return true;
    // When that one holds a share, this one may be among the first.
    this.watches.add(path, place);
    const read = await this.nodes.read(path, true);
    return read !== undefined && read.data.state !== 'holds';
  }

  private grantOf(place: OwnPlace, { token, since }: OwnHold, line: Line): Grant {
    const tokens = Math.min(place.request.tokens, TOKENS_OF_ONE);
    return { token, since, tokens, othersWait: line.othersWait(this.nodes.client.id) };
  }
}
