import { later } from '../../../common/clock.js';
import type { AskRequest, MonotonicMs } from '../../port/lock-store.js';
import type { OwnHold, OwnPlace } from '../locks/own-places.js';
import type { PlaceData } from '../locks/place-data.js';

export function newPlace(
  request: AskRequest,
  name: string,
  path: string,
  isMarkedWaiting: boolean,
): OwnPlace {
  const { key, owner, limit } = request;
  const nothing = { hold: undefined, writing: 0, end: undefined };
  return { key, owner, limit, name, path, request, isMarkedWaiting, ...nothing };
}

export function dataOf(
  { lease, claimLease, callers, label }: AskRequest,
  state: PlaceData['state'],
  granted = lease,
): PlaceData {
  return { state, lease: granted, claim: claimLease, callers, label };
}

/** What the node of a hold says when its lease begins anew. */
export function holdingData(place: OwnPlace, { token, since }: OwnHold, lease: number): PlaceData {
  return { ...dataOf(place.request, 'holds', lease), token, since };
}

/**
 * The lease that is written next: never less than what is left of the one that was written last, be it under way still,
 * unless that is asked for, or a pushed grant is claimed.
 *
 * @param lease 0 for what is left
 */
export function leaseToWrite(hold: OwnHold, lease: number, exactly: boolean, now: MonotonicMs): number {
  const left = Math.max(1, Math.ceil(hold.writtenUntil - now));
  if (lease === 0) return left;
  const written = exactly || hold.unclaimed ? lease : Math.max(lease, left);
  hold.unclaimed = false;
  hold.writtenUntil = later(now, written);
  return written;
}
