import { breakHold } from '../../stores/port/forwarding-session.js';
import type { BreakReply, NamedHold } from '../../stores/port/lock-store.js';
import { storeFailure } from '../../stores/port/store-failure.js';
import type { EngineContext } from '../context.js';
import type { Lease } from '../lease/lease.js';

type BreakContext = Pick<EngineContext, 'session' | 'leases'>;

/**
 * Has the store break a hold. It knows the first of those that follow each other on a lease of a process (P20): of this
 * process's own, the hold has to be there still, and no other begins on its lease meanwhile.
 */
export async function breakNamedHold(
  { session, leases }: BreakContext,
  key: string,
  hold: NamedHold,
): Promise<BreakReply> {
  const lease = [...leases.all].find((each) => each.key === key && isOfLease(hold, each));
  if (lease === undefined) return await breakHold(session, key, hold);
  if (!isThere(hold, lease)) return (await session.inspect(key)) === null ? 'free' : 'held-by-others';
  return await breakOwn(
    leases,
    [lease],
    () => breakHold(session, key, { owner: lease.owner }),
    (reply) => reply === 'broken',
  );
}

/** Has the store break a lock, whoever holds it; true if it was held. */
export async function breakAll({ session, leases }: BreakContext, key: string): Promise<boolean> {
  const own = [...leases.all].filter((lease) => lease.key === key);
  const wasHeld = await breakOwn(
    leases,
    own,
    () => session.forceRelease(key),
    (reply) => reply,
  );
  // What was granted while this was asked for may be broken, or have come after it.
  if (wasHeld) leases.verify((each) => each === key);
  return wasHeld;
}

/**
 * No hold begins on leases that the store is to break. What it has broken ends here at once: the store's message may come
 * later, or never. Of a lease that may be broken no other hold makes use, since the request may yet be carried out.
 */
async function breakOwn<Reply>(
  leases: EngineContext['leases'],
  own: readonly Lease[],
  request: () => Promise<Reply>,
  isBroken: (reply: Reply) => boolean,
): Promise<Reply> {
  for (const lease of own) lease.changeBreaks(1);
  const ask = (): void => {
    for (const lease of own) if (lease.state === 'held') leases.watchdog.verify(lease);
  };
  try {
    const reply = await request();
    if (isBroken(reply)) for (const lease of own) leases.broken(lease.owner);
    else ask();
    return reply;
  } catch (error) {
    if (storeFailure(error).inDoubt) ask();
    else for (const lease of own) lease.changeBreaks(-1);
    throw error;
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
