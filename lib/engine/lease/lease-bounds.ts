import { inMs } from '../../common/durations.js';
import { LockOptionsError } from '../../model/lock.errors.js';
import type { LockStoreSession } from '../../stores/port/lock-store.js';

/**
 * @throws LockOptionsError if the store can't keep a lock for that long after its process has ended; nothing has been asked
 * of it by then
 */
export function checkMinimumHold(session: LockStoreSession, holdAtLeast: number): void {
  const why = holdAtLeast > 0 ? session.whyTooLong?.(holdAtLeast) : undefined;
  if (why !== undefined) {
    throw new LockOptionsError(`holdAtLeast (${inMs(holdAtLeast)}) is too long: ${why}.`);
  }
}
