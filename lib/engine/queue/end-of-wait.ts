import { later } from '../../common/clock.js';
import type { LinkedQueue } from '../../common/linked-queue.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { LeaseLeft } from '../events/lock-reporter.js';
import { ANSWER_GRACE } from '../time/time-limits.js';
import type { GivenUp } from '../time/wait.js';
import type { EngineContext } from '../context.js';
import { ownHolder, withHolder } from './holders.js';
import type { OwnLeases } from './own-leases.js';
import type { QueueTicket } from './queue-ticket.js';
import type { QueueTickets } from './queue-tickets.js';
import type { Waiter } from './waiter.js';

/** The queue that a caller leaves, and what it knows of its key. */
interface LeftQueue {
  readonly waiting: LinkedQueue<Waiter>;
  readonly leases: OwnLeases;
  readonly tickets: QueueTickets;
  readonly holderLeaseLeft: LeaseLeft | undefined;
  goOn(): void;
  idle(): Promise<void>;
}

/** Time or signal have ended the caller's wait: it leaves, and hears of it. */
export function endWait(context: EngineContext, queue: LeftQueue, caller: Waiter, why: GivenUp): void {
  const { tickets, waiting, leases } = queue;
  const isFirstReplyOut = tickets.isNothingKnown && leases.size === 0;
  const isPart = caller.partOf !== undefined;
  if (why === 'timeout' && isFirstReplyOut && !caller.prolonged && !isPart) {
    caller.prolonged = true;
    caller.prolong(later(context.clock.monotonic(), ANSWER_GRACE));
    return;
  }
  const error = why === 'aborted' ? caller.abortReason : endOfWait(context, caller, queue);
  waiting.leave(caller);
  caller.stop();
  tickets.lastFreed = undefined;
  queue.goOn();
  const freed = tickets.lastFreed as QueueTicket | undefined; // by what goes on
  if (why === 'timeout' && isPart && freed?.askedAt !== undefined) freed.abandon();
  // Nothing shall stay behind in the store when the caller hears of it (B10), within reason.
  const isFollowed = (freed !== undefined || waiting.size === 0) && tickets.isLeaving;
  const isToLeave = why === 'timeout' && isFollowed && (!isFirstReplyOut || isPart);
  const named = withHolder(context, caller, error);
  if (!isToLeave && named === undefined) {
    context.reporter.refuse(caller, error);
    return;
  }
  const left = isToLeave ? context.timers.within(ANSWER_GRACE, queue.idle()) : undefined;
  void Promise.all([named ?? error, left]).then(([outcome]) => {
    context.reporter.refuse(caller, outcome);
  });
}

/** B11: held by others, or not to be asked. One key of several may also not have been asked for in time. */
function endOfWait(context: EngineContext, caller: Waiter, queue: LeftQueue): Error {
  const { leases, tickets, holderLeaseLeft } = queue;
  const { reporter } = context;
  const now = context.clock.monotonic();
  const ticket = caller.limit === 1 ? tickets.first : tickets.of(caller);
  // Whether this process keeps the caller waiting.
  const isHeldHere = leases.isAllGood || (leases.isAnyGood && (caller.limit === 1 || ticket === undefined));
  const isSilent = ticket !== undefined && doesNotAnswer(ticket, tickets, now);
  if (!isHeldHere && caller.lateAfter !== undefined) return reporter.lateGrant(caller, caller.lateAfter);
  if (isHeldHere || tickets.tellsOfHolder(caller.startedAt, isSilent)) {
    return reporter.timedOut(caller, holderLeaseLeft, isHeldHere ? ownHolder(context, leases) : undefined);
  }
  if (caller.partOf !== undefined && tickets.isNothingKnown && !isSilent) return reporter.outOfTime(caller);
  return reporter.unavailable(caller, tickets.failure, now - caller.startedAt);
}

/** Whether what the store said does not count any more, while it owes an answer to that ticket. */
function doesNotAnswer(ticket: QueueTicket, tickets: QueueTickets, now: MonotonicMs): boolean {
  if (ticket.isSilent || ticket.limit === 1) return ticket.isSilent;
  return tickets.isOutdated(now);
}
