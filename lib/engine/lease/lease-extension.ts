import { deadlineOf } from '../../common/clock.js';
import { LockStoreError, type LockStoreSession, type MonotonicMs } from '../../stores/port/lock-store.js';
import type { Lease } from './lease.js';
import { renewLeases } from './renew-leases.js';
import type { RenewalListener } from './watchdog.js';

/** A lease that could not be extended, and why. */
export interface FailedExtension {
  readonly lease: Lease;
  readonly failure: LockStoreError;
}

/** What is known of leases, and told what the store answered. */
interface ExtensionListener extends Pick<RenewalListener, 'renewed'> {
  sendingAt(): MonotonicMs;
  sureFor(lease: Lease, now: MonotonicMs): number;
}

/** Makes leases last at least `ms` from now; those that do so anyway are not asked for. Answers the first that failed. */
export async function extendLeases(
  session: LockStoreSession,
  listener: ExtensionListener,
  leases: readonly Lease[],
  ms: number,
): Promise<FailedExtension | undefined> {
  const sentAt = listener.sendingAt();
  const wanted = deadlineOf(sentAt, ms) - sentAt;
  const due = leases.filter((lease) => {
    const sureFor = listener.sureFor(lease, sentAt);
    return sureFor <= 0 || sureFor < wanted;
  });
  const failed: FailedExtension[] = [];
  await renewLeases(
    session,
    due,
    () => ms,
    (lease, outcome) => {
      if (outcome instanceof LockStoreError) failed.push({ lease, failure: outcome });
      else listener.renewed(lease, outcome, sentAt, ms);
    },
  );
  return failed[0];
}
