import {
  LockStoreError,
  type LockStoreSession,
  type RenewReply,
  type RenewRequest,
} from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';
import type { Ticket } from './ticket.js';

/** Tickets renewed by one request; a script then blocks the server for about a millisecond at most. */
const BATCH = 500;

const NO_REPLY = new LockStoreError('it did not reply to the renewal', { inDoubt: true, retryable: true });

/**
 * Renews tickets in batches; resolves when all outcomes are known.
 *
 * @param termOf the lease to request, ms
 */
export async function renewTickets(
  session: LockStoreSession,
  tickets: readonly Ticket[],
  termOf: (ticket: Ticket) => number,
  onRenewal: (ticket: Ticket, outcome: RenewReply | LockStoreError, term: number) => void,
): Promise<void> {
  const renewBatch = async (batch: readonly Ticket[]): Promise<void> => {
    const requests = batch.map((ticket): RenewRequest => {
      const { key, owner, leaseTime } = ticket;
      return { key, owner, lease: termOf(ticket), isRenewed: leaseTime === undefined };
    });
    const outcomes = await renew(session, requests);
    batch.forEach((ticket, index) => {
      const outcome = outcomes[index];
      if (outcome !== undefined) onRenewal(ticket, outcome, requests[index]?.lease ?? 0);
    });
  };
  const batches: Promise<void>[] = [];
  for (let start = 0; start < tickets.length; start += BATCH) {
    batches.push(renewBatch(tickets.slice(start, start + BATCH)));
  }
  await Promise.all(batches);
}

/** One outcome for each request. */
export async function renew(
  session: LockStoreSession,
  requests: readonly RenewRequest[],
): Promise<readonly (RenewReply | LockStoreError)[]> {
  try {
    const replies: readonly unknown[] = await session.renew(requests);
    return requests.map((_, index) => replyOr(replies[index]));
  } catch (error) {
    const failure = storeFailure(error);
    return requests.map(() => failure);
  }
}

/** A custom store may leave out replies. */
function replyOr(reply: unknown): RenewReply | LockStoreError {
  if (reply === 'renewed' || reply === 'gone' || reply === 'taken') return reply;
  return reply instanceof Error ? storeFailure(reply) : NO_REPLY;
}
