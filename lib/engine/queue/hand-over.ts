import type { EngineContext } from '../context.js';
import { Hold } from '../hold/hold.js';
import type { Lease } from '../lease/lease.js';
import type { Waiter } from './waiter.js';

/**
 * A caller gets the lock, on a lease that is new or that it inherits.
 *
 * @param from when the hold begins
 * @param former leases that this one supersedes
 */
export function handOver(
  engine: EngineContext,
  lease: Lease,
  caller: Waiter,
  token = lease.firstToken,
  from = lease.startedAt,
  former?: readonly Lease[],
): void {
  const hold = new Hold(engine, lease, undefined, {
    token,
    heldFrom: from,
    name: caller.name,
    label: caller.label,
  });
  lease.take(hold);
  hold.keepFor(caller.holdAtLeast);
  // First of all: a listener that aborts the wait now comes too late, and must not make a hold that nobody has.
  caller.succeed(hold);
  if (former !== undefined) for (const each of former) engine.leases.superseded(each);
  if (engine.hub.observed) engine.reporter.granted(caller, hold.token);
}
