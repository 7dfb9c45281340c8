import { breakHold } from '../../stores/port/break-hold.js';
import type { BreakReply, NamedHold } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import type { Lease } from '../lease/lease.js';

/**
 * Has the store break a hold. It knows the first of those that follow each other on a lease of a process (P20): of this
 * process's own, the hold has to be there still, and no other begins on its lease meanwhile.
 */
export async function breakNamedHold(
  { session, leases }: Pick<EngineContext, 'session' | 'leases'>,
  key: string,
  hold: NamedHold,
): Promise<BreakReply> {
  const lease = [...leases.all].find((each) => each.key === key && isOfLease(hold, each));
  if (lease === undefined) return await breakHold(session, key, hold);
  if (!isThere(hold, lease)) return (await session.inspect(key)) === null ? 'free' : 'held-by-others';
  lease.isToBeBroken = true;
  try {
    return await breakHold(session, key, { owner: lease.owner });
  } finally {
    lease.isToBeBroken = false;
  }
}

/** Whether the hold is, or was, one of those on the lease. */
function isOfLease({ owner, token }: NamedHold, lease: Lease): boolean {
  if (lease.state !== 'held') return false;
  if (owner !== undefined) return owner === lease.owner;
  return token === lease.firstToken || isThere({ token }, lease);
}

/** Not between two holds either: the next one may begin before the store has answered. */
function isThere({ token }: NamedHold, lease: Lease): boolean {
  return token === undefined || lease.holders.some((user) => user.token === token);
}
