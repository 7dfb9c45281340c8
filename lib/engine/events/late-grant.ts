import { deadlineOf } from '../../common/clock.js';
import { inMs } from '../../common/durations.js';
import { LockStoreError, type MonotonicMs } from '../../stores/port/lock-store.js';

/** Whether the caller's own `leaseTime` is over when the answer takes so many ms: a lease of the watchdog never is. */
export function isLeaseTooShort(
  { leaseTime }: { readonly leaseTime: number | undefined },
  took: number,
): boolean {
  return leaseTime !== undefined && deadlineOf(0 as MonotonicMs, leaseTime) <= took;
}

/** The store granted the lock, so many ms after it was asked, when the lease was over. */
export function lateAnswer(took: number): LockStoreError {
  return new LockStoreError(`its answer came after ${inMs(took)}, which is too late to be of use`, {
    inDoubt: false,
    retryable: true,
  });
}
