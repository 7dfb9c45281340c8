import { pauseBefore } from '../common/background-retry.js';
import type { EventSubject } from '../model/lock-kind.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import type { TimerQueue } from '../common/timer-queue.js';
import type { Ticket } from './ticket.js';
import type { FailedExtension, TicketContext, Tickets } from './tickets.js';
import { SILENCE } from './time-limits.js';
import { Wait, type WaitOptions } from './wait.js';

/** The parts of the engine that extensions use. */
export interface ExtensionContext extends TicketContext {
  readonly timers: TimerQueue;
  readonly tickets: Tickets;
}

/** Extends the tickets of holds once; rejects if the store did not reply. */
export async function extendOrThrow(
  { tickets, reporter }: ExtensionContext,
  holds: readonly (EventSubject & { readonly ticket: Ticket })[],
  ms: number,
): Promise<void> {
  const failed = await tickets.extend(
    holds.map(({ ticket }) => ticket),
    ms,
  );
  const hold = holds.find(({ ticket }) => ticket === failed?.ticket);
  if (hold !== undefined) throw reporter.reported(reporter.unavailable(hold, failed?.failure));
}

/**
 * Extends tickets for a waiting caller, and retries until `waitTime` ends. Also resolves if one of them turned out
 * to be lost; rejects with the signal's reason, or if the store did not reply.
 *
 * @param late the error for a request that is still pending at the end, though its reply is not overdue yet
 */
export function extendInTime(
  engine: ExtensionContext,
  tickets: readonly Ticket[],
  ms: number,
  terms: WaitOptions & Omit<EventSubject, 'key'>,
  startedAt: MonotonicMs,
  late: (key: string) => Error,
): Promise<void> {
  let failed: FailedExtension | undefined;
  /** When the pending request was sent. */
  let askedAt: MonotonicMs | undefined;
  let isLast = terms.waitTime === 0;

  const fail = (): void => {
    if (wait.isSettled) return;
    const key = (failed?.ticket ?? tickets[0])?.key;
    if (key === undefined) return;
    const now = engine.clock.monotonic();
    const isLate = failed === undefined && askedAt !== undefined && now - askedAt < SILENCE;
    const waitedFor = terms.waitTime === 0 ? undefined : now - startedAt;
    engine.reporter.refuse(
      wait,
      isLate ? late(key) : engine.reporter.unavailable({ ...terms, key }, failed?.failure, waitedFor),
    );
  };
  const wait: Wait<void> = new Wait<void>(engine.timers, startedAt, terms, (why) => {
    if (why === 'aborted') wait.fail(wait.abortReason);
    else if (isLast || askedAt === undefined) fail();
    else {
      isLast = true;
      wait.prolong(engine.clock.monotonic());
    }
  });
  /** Resolves when the wait has ended and no request is in flight. */
  const run = async (): Promise<void> => {
    // The single request of `waitTime: 0` has no time limit.
    if (isLast) wait.listen();
    else wait.begin();
    for (let failures = 0; !wait.isSettled; failures += 1) {
      askedAt = engine.clock.monotonic();
      failed = await engine.tickets.extend(tickets, ms);
      askedAt = undefined;
      const now = engine.clock.monotonic();
      if (failed === undefined || !tickets.every((ticket) => ticket.isGood(now))) {
        wait.succeed();
        return;
      }
      if (isLast || !failed.failure.retryable) fail();
      else await engine.timers.within(pauseBefore(failures), wait.promise);
    }
  };

  void engine.backgroundRetry.track(run());
  return wait.promise;
}
