import { deadlineOf } from '../../common/clock.js';
import {
  LockStoreError,
  type LockStoreSession,
  type MonotonicMs,
  type RenewRequest,
} from '../../stores/port/lock-store.js';
import { storeFailure } from '../../stores/port/store-failure.js';
import type { Lease } from './lease.js';
import { renewalReply } from './renewal-reply.js';
import { BATCH, type RenewalListener } from './watchdog.js';

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

/** Makes leases last at least `ms` from now, many by one request; those that do so anyway are not asked for. */
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
  const renew = async (batch: readonly Lease[]): Promise<FailedExtension | undefined> => {
    let first: FailedExtension | undefined;
    try {
      const replies = await session.renew(
        batch.map(({ key, owner }): RenewRequest => ({ key, owner, lease: ms })),
      );
      batch.forEach((lease, index) => {
        const reply = renewalReply(replies[index]);
        if (reply instanceof LockStoreError) first ??= { lease, failure: reply };
        else listener.renewed(lease, reply, sentAt, ms);
      });
    } catch (error) {
      const [lease] = batch;
      if (lease !== undefined) first = { lease, failure: storeFailure(error) };
    }
    return first;
  };
  const batches: Promise<FailedExtension | undefined>[] = [];
  for (let start = 0; start < due.length; start += BATCH)
    batches.push(renew(due.slice(start, start + BATCH)));
  const failures = await Promise.all(batches);
  return failures.find((failure) => failure !== undefined);
}
