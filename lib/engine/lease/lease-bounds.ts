import { inMs } from '../../common/durations.js';
import { LockOptionsError } from '../../model/lock.errors.js';
import type { LockStoreSession } from '../../stores/port/lock-store.js';

/** What a caller asks for that a store may have a bound for, ms. */
interface Times {
  readonly leaseTime: number | undefined;
  readonly holdAtLeast: number;
}

/** Whether there is anything to check: most callers leave leases to the watchdog. */
export function hasTimes({ leaseTime, holdAtLeast }: Times): boolean {
  return leaseTime !== undefined || holdAtLeast > 0;
}

/** @throws LockOptionsError if the store can't keep a lock for that long; nothing has been asked of it by then */
export function checkTimes(session: LockStoreSession, { leaseTime, holdAtLeast }: Times): void {
  if (leaseTime !== undefined) checkLeaseOf(session, 'leaseTime', leaseTime);
  // Nobody renews the lease when the work is over.
  if (holdAtLeast > 0) checkLeaseOf(session, 'holdAtLeast', holdAtLeast);
}

/** @throws LockOptionsError as {@link checkTimes} */
export function checkLeaseOf(session: LockStoreSession, name: string, ms: number): void {
  const why = session.whyTooLong?.(ms);
  if (why !== undefined) throw new LockOptionsError(`${name} (${inMs(ms)}) is too long: ${why}.`);
}
