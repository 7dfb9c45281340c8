import { later } from '../../../common/clock.js';
import type { AskRequest, MonotonicMs } from '../../port/lock-store.js';
import type { OwnHold, OwnPlace } from '../locks/own-places.js';
import type { PlaceData } from '../locks/place-data.js';
import type { LockNodes } from './lock-nodes.js';

export function newPlace(
  request: AskRequest,
  name: string,
  path: string,
  isMarkedWaiting: boolean,
): OwnPlace {
  const { key, owner, limit } = request;
  const nothing = { hold: undefined, standing: undefined, writing: 0, end: undefined };
  return { key, owner, limit, name, path, request, isMarkedWaiting, ...nothing };
}

export function dataOf(
  nodes: Pick<LockNodes, 'isKept'>,
  { lease, claimLease, callers, label }: AskRequest,
  state: PlaceData['state'],
  granted = lease,
): PlaceData {
  return { state, lease: granted, isKept: nodes.isKept(granted), claim: claimLease, callers, label };
}

/**
 * What the node of a hold says when its lease begins anew.
 *
 * @param exactly whether the lease is to end then, even if the session goes on
 */
export function holdingData(
  nodes: Pick<LockNodes, 'isKept'>,
  { request }: OwnPlace,
  { token, since, isKept }: OwnHold,
  lease: number,
  exactly = false,
): PlaceData {
  const data = dataOf(nodes, request, 'holds', lease);
  return { ...data, isKept: !exactly && (isKept || data.isKept), token, since };
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
