import type { CallbackTimer } from '../../../common/timer-queue.js';
import type { AskRequest, LockStoreError, MonotonicMs, OwnerId, WallClockMs } from '../../port/lock-store.js';
import { Turns } from '../../port/turns.js';

/** What this client holds on a place of its own. */
export interface OwnHold {
  readonly token: number;
  readonly since: WallClockMs;
  /** When it is over in any case. */
  endsAt: MonotonicMs;
  /** Until when it lasts by what was written of it last, which may be under way still. */
  writtenUntil: MonotonicMs;
  /** Whether the grant was pushed and not claimed yet. */
  unclaimed: boolean;
  /** Whether its node says that it lasts as long as the session, so that a renewal need not write. */
  isKept: boolean;
}

/** What a waiter has seen that is not among the first. */
export interface Standing {
  /** The node before it that it waits for. */
  readonly target: string;
  /** Whether that one held the lock, or was about to say so. */
  readonly isTargetHolder: boolean;
  readonly holderLeaseLeft: number | undefined;
  /** When the line is read again, if nothing happens before. */
  readonly readAgainAt: MonotonicMs;
}

/** A node of this client's in the line of a lock. */
export interface OwnPlace {
  readonly key: string;
  readonly owner: OwnerId;
  readonly limit: number;
  readonly name: string;
  readonly path: string;
  /** What was asked last. */
  request: AskRequest;
  /** Whether its data says that it holds the lock only when it has said so. */
  isMarkedWaiting: boolean;
  hold: OwnHold | undefined;
  /** Undefined of one that is among the first, and before it is known. */
  standing: Standing | undefined;
  /** How many requests are under way that write that it holds the lock. */
  writing: number;
  /** Ends the place when its lease is over, or, of one that waits, when its owner has not asked for long. */
  end: CallbackTimer | undefined;
}

/** The places of this client, by owner; and what has to be known of owners that have none. */
export class OwnPlaces {
  /** Of the requests of one owner. */
  readonly turns = new Turns<OwnerId>();
  private readonly places = new Map<OwnerId, OwnPlace>();
  /** Owners whose request may have left a place that is not known. */
  private readonly inDoubt = new Set<OwnerId>();

  /** Undefined also where its place is in the line of another lock. */
  get(owner: OwnerId, key: string): OwnPlace | undefined {
    const place = this.places.get(owner);
    return place?.key === key ? place : undefined;
  }

  /** Wherever its place is. */
  placeOf(owner: OwnerId): OwnPlace | undefined {
    return this.places.get(owner);
  }

  get all(): readonly OwnPlace[] {
    return [...this.places.values()];
  }

  add(place: OwnPlace): void {
    this.inDoubt.delete(place.owner);
    this.places.set(place.owner, place);
  }

  forget(place: OwnPlace): void {
    if (this.places.get(place.owner) === place) this.places.delete(place.owner);
  }

  doubt(owner: OwnerId): void {
    this.inDoubt.add(owner);
  }

  /** Of what was asked for in doubt, there may be places that nobody knows of. */
  onFailure({ inDoubt }: LockStoreError, requests: readonly AskRequest[]): void {
    if (!inDoubt) return;
    for (const { key, owner } of requests) if (this.get(owner, key) === undefined) this.doubt(owner);
  }

  /** Whether it was in doubt, which it is no more. */
  resolve(owner: OwnerId): boolean {
    return this.inDoubt.delete(owner);
  }

  /** With its session, everything goes. */
  clear(): readonly OwnPlace[] {
    const { all } = this;
    this.places.clear();
    this.inDoubt.clear();
    return all;
  }
}
