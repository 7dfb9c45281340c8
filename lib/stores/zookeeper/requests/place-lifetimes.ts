import { later } from '../../../common/clock.js';
import { CallbackTimer, type TimerQueue } from '../../../common/timer-queue.js';
import {
  LockStoreError,
  type AskRequest,
  type MonotonicMs,
  type OwnerId,
  type WallClockMs,
} from '../../port/lock-store.js';
import { WAITER_TTL } from '../../port/times.js';
import { zooKeeperFailure } from '../connection/zookeeper-failure.js';
import type { Stat } from '../connection/operations.js';
import type { OwnHold, OwnPlace, OwnPlaces } from '../locks/own-places.js';
import type { PlaceData } from '../locks/place-data.js';
import type { LockNodes } from './lock-nodes.js';
import { newPlace } from './place-words.js';

/** After which a place whose end has come is looked at again while something is written there, ms. */
const WRITING = 20;

/** What to write of a place that holds its lock; no data to leave it as it is. */
export interface HoldWrite {
  readonly place: OwnPlace;
  readonly data: PlaceData | undefined;
}

/** How long this client's places last: as long as the lease of what they hold, or as their owner asks again and again. */
export class PlaceLifetimes {
  constructor(
    private readonly nodes: LockNodes,
    private readonly own: OwnPlaces,
    private readonly timers: TimerQueue,
  ) {}

  /**
   * Writes that places hold their locks, all of them or none; undefined if one is gone. Until that is answered none of them
   * ends by itself: its end would be carried out after that, when its owner is told that it holds the lock. Without data it
   * is only confirmed that the place is there, by a transaction: an answer of one server alone would not show that the others
   * still have the session.
   *
   * @returns the stat of the first, if it was written
   */
  async write(...writes: readonly HoldWrite[]): Promise<{ readonly stat: Stat | undefined } | undefined> {
    for (const { place } of writes) place.writing += 1;
    try {
      const written = await this.nodes.write(...writes.map(({ place: { path }, data }) => ({ path, data })));
      if (written === undefined) return undefined;
      for (const { place, data } of writes) {
        if (place.hold !== undefined && data !== undefined) place.hold.isKept = data.isKept;
      }
      return written;
    } finally {
      for (const { place } of writes) place.writing -= 1;
    }
  }

  /** The lease of its grant begins. */
  hold(place: OwnPlace, zxid: number, since: number, lease: number, unclaimed: boolean): OwnHold {
    const token = this.nodes.own.tokens.of(zxid);
    const endsAt = later(this.nodes.client.now(), lease);
    const isKept = this.nodes.isKept(lease);
    place.hold = { token, since: since as WallClockMs, endsAt, writtenUntil: endsAt, unclaimed, isKept };
    this.endAt(place, endsAt);
    return place.hold;
  }

  /** Its hold lasts so long from now. */
  prolong(place: OwnPlace, hold: OwnHold, lease: number): void {
    hold.endsAt = later(this.nodes.client.now(), lease);
    // A timer that fires too early is set anew: most leases are renewed long before their end.
    if (place.end === undefined || hold.endsAt < place.end.dueAt) this.endAt(place, hold.endsAt);
  }

  /** Its owner has asked; without a word from it for some time the place is given up. */
  heardOf(place: OwnPlace): void {
    this.endAt(place, later(this.nodes.client.now(), WAITER_TTL));
  }

  /** It ends no more by itself. */
  keep(place: OwnPlace): void {
    if (place.end !== undefined) this.timers.clear(place.end);
    place.end = undefined;
  }

  /** It is gone. */
  forget(place: OwnPlace): void {
    this.own.forget(place);
    this.keep(place);
  }

  /** Takes a place away; it is no longer known. Answers whether it was there. What fails is done later in any case. */
  async leave(place: OwnPlace): Promise<boolean> {
    this.forget(place);
    try {
      return await this.nodes.give(place.path);
    } catch (error) {
      const { message, retryable, unreachable } = zooKeeperFailure(error);
      throw new LockStoreError(message, { inDoubt: true, retryable, unreachable, cause: error });
    }
  }

  /** Looks for places that a request in doubt may have left; keeps one that lives with this session. */
  async find(key: string, owner: OwnerId, request?: AskRequest): Promise<OwnPlace | undefined> {
    const line = await this.nodes.line(key, { isFresh: true });
    let kept: OwnPlace | undefined;
    for (const { name, limit } of line.places.filter((place) => place.owner === owner)) {
      const path = this.nodes.pathOf(key, name);
      const mayStay = request !== undefined && kept === undefined && limit === request.limit;
      const read = mayStay ? await this.nodes.read(path) : undefined;
      if (!mayStay || read === undefined || !this.nodes.isOwn(read.stat)) {
        await this.nodes.give(path);
        continue;
      }
      kept = newPlace(request, name, path, read.data.state === 'waits');
      this.own.add(kept);
    }
    return kept;
  }

  private endAt(place: OwnPlace, time: MonotonicMs): void {
    // It was released while a renewal was under way: to delete it once more would be a transaction that fails.
    if (this.own.placeOf(place.owner) !== place) return;
    place.end ??= new CallbackTimer(() => {
      const now = this.nodes.client.now();
      const endsAt = place.hold?.endsAt;
      if (endsAt !== undefined && endsAt > now) this.endAt(place, endsAt);
      else if (place.writing > 0) this.endAt(place, later(now, WRITING));
      else this.leave(place).catch(() => undefined);
    });
    this.timers.set(place.end, time);
  }
}
