import type { AskRequest } from '../../port/lock-store.js';
import type { OwnHold, OwnPlace } from '../locks/own-places.js';
import type { PlaceData } from '../locks/place-data.js';

/** Whether a limit is that of a semaphore. */
export function isOfMany(limit: number): boolean {
  return limit !== 1 && limit !== Infinity;
}

export function newPlace(
  request: AskRequest,
  name: string,
  path: string,
  isMarkedWaiting: boolean,
): OwnPlace {
  const { key, owner, limit } = request;
  return { key, owner, limit, name, path, request, isMarkedWaiting, hold: undefined, end: undefined };
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

/** What is written as the lease: never less than is left, unless that is asked for, or a pushed grant is claimed. */
export function longerLease(
  { endsAt, unclaimed }: OwnHold,
  lease: number,
  exactly: boolean,
  now: number,
): number {
  return exactly || unclaimed ? lease : Math.max(lease, Math.ceil(endsAt - now));
}
