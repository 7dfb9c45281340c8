import type { EngineContext } from '../context.js';
import { Hold } from '../hold/hold.js';
import type { Lease } from '../lease/lease.js';
import type { Waiter } from './waiter.js';

/**
 * A caller gets the lock, on a lease that is new or that it inherits.
 *
 * @param former the lease that this one supersedes
 */
export function handOver(engine: EngineContext, lease: Lease, caller: Waiter, former?: Lease): void {
  const hold = new Hold(engine, lease, undefined);
  lease.user = hold;
  lease.isParked = false;
  hold.keepFor(caller.holdAtLeast);
  // First of all: a listener that aborts the wait now comes too late, and must not make a hold that nobody has.
  caller.succeed(hold);
  engine.leases.superseded(former);
  engine.reporter.granted(caller, hold.token);
}
