import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import type { OwnLeases } from './own-leases.js';
import type { QueueTicket } from './queue-ticket.js';
import type { QueueTickets } from './queue-tickets.js';
import type { Waiter } from './waiter.js';

/** What is known of a key when a caller's time is over. */
interface KnownOfKey {
  readonly leases: OwnLeases;
  readonly tickets: QueueTickets;
  readonly holderLeaseLeft: number | undefined;
}

/** B11: held by others, or not to be asked. One key of several may also not have been asked for in time. */
export function endOfWait(context: EngineContext, caller: Waiter, known: KnownOfKey): Error {
  const { leases, tickets, holderLeaseLeft } = known;
  const { reporter } = context;
  const now = context.clock.monotonic();
  const ticket = caller.limit === 1 ? tickets.first : tickets.of(caller);
  // Whether this process keeps the caller waiting.
  const isHeldHere = leases.isAllGood || (leases.isAnyGood && (caller.limit === 1 || ticket === undefined));
  const isSilent = ticket !== undefined && doesNotAnswer(ticket, tickets, now);
  if (isHeldHere || tickets.tellsOfHolder(caller.startedAt, isSilent)) {
    return reporter.timedOut(caller, holderLeaseLeft);
  }
  if (caller.partOf !== undefined && tickets.isNothingKnown && !isSilent) return reporter.outOfTime(caller);
  return reporter.unavailable(caller, tickets.failure, now - caller.startedAt);
}

/** Whether what the store said does not count any more, while it owes an answer to that ticket. */
function doesNotAnswer(ticket: QueueTicket, tickets: QueueTickets, now: MonotonicMs): boolean {
  if (ticket.isSilent || ticket.limit === 1) return ticket.isSilent;
  return tickets.isOutdated(now);
}
