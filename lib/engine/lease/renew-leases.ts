import {
  LockStoreError,
  type LockStoreSession,
  type RenewReply,
  type RenewRequest,
} from '../../stores/port/lock-store.js';
import { storeFailure } from '../../stores/port/store-failure.js';
import type { Lease } from './lease.js';

/** Leases renewed by one request; keeps the time that a script blocks the server under a millisecond or so. */
const BATCH = 500;

const NO_REPLY = new LockStoreError('it gave no reply to the renewal', { inDoubt: true, retryable: true });

/** Is told what came of the renewal of a lease, and for how many ms it was asked for. */
type OnRenewal = (lease: Lease, outcome: RenewReply | LockStoreError, term: number) => void;

/** Renews leases, many by one request, each for so many ms; resolves when that is decided for all of them. */
export async function renewLeases(
  session: LockStoreSession,
  leases: readonly Lease[],
  termOf: (lease: Lease) => number,
  onRenewal: OnRenewal,
): Promise<void> {
  const renewBatch = async (batch: readonly Lease[]): Promise<void> => {
    const requests = batch.map((lease): RenewRequest => {
      const { key, owner, fixedLease } = lease;
      return { key, owner, lease: termOf(lease), isRenewed: fixedLease === undefined };
    });
    const outcomes = await renew(session, requests);
    batch.forEach((lease, index) => {
      const outcome = outcomes[index];
      if (outcome !== undefined) onRenewal(lease, outcome, requests[index]?.lease ?? 0);
    });
  };
  const batches: Promise<void>[] = [];
  for (let start = 0; start < leases.length; start += BATCH) {
    batches.push(renewBatch(leases.slice(start, start + BATCH)));
  }
  await Promise.all(batches);
}

/** What came of each renewal. */
export async function renew(
  session: LockStoreSession,
  requests: readonly RenewRequest[],
): Promise<readonly (RenewReply | LockStoreError)[]> {
  try {
    const replies: readonly unknown[] = await session.renew(requests);
    return requests.map((_, index) => outcomeOf(replies[index]));
  } catch (error) {
    const failure = storeFailure(error);
    return requests.map(() => failure);
  }
}

/** A store of the user's may leave replies out. */
function outcomeOf(reply: unknown): RenewReply | LockStoreError {
  if (reply === 'renewed' || reply === 'gone' || reply === 'taken') return reply;
  return reply instanceof Error ? storeFailure(reply) : NO_REPLY;
}
