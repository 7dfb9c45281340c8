import { pauseBefore } from '../../common/background-retry.js';
import type { EventSubject } from '../../model/lock-kind.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { Lease } from '../leases/lease.js';
import type { FailedExtension } from '../leases/leases.js';
import type { HoldContext } from './hold.js';
import { SILENCE } from '../machine/time-limits.js';
import { Deadline, type WaitOptions } from './deadline.js';

/** Extends the leases of holds once; rejects if the store did not reply. */
export async function extendOrThrow(
  { leases, reporter }: HoldContext,
  holds: readonly (EventSubject & { readonly lease: Lease })[],
  ms: number,
): Promise<void> {
  const failed = await leases.extend(
    holds.map(({ lease }) => lease),
    ms,
  );
  const hold = holds.find(({ lease }) => lease === failed?.lease);
  if (hold !== undefined) throw reporter.reported(reporter.unavailable(hold, failed?.failure));
}

/**
 * Extends leases for a waiting caller, and retries until `waitTime` ends. Also resolves if one of them turned out
 * to be lost; rejects with the signal's reason, or if the store did not reply.
 *
 * @param late the error for a request that is still pending at the end, though its reply is not overdue yet
 */
export function extendInTime(
  engine: HoldContext,
  leases: readonly Lease[],
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
    const key = (failed?.lease ?? leases[0])?.key;
    if (key === undefined) return;
    const now = engine.clock.monotonic();
    const isLate = failed === undefined && askedAt !== undefined && now - askedAt < SILENCE;
    const waitedFor = terms.waitTime === 0 ? undefined : now - startedAt;
    engine.reporter.refuse(
      wait,
      isLate ? late(key) : engine.reporter.unavailable({ ...terms, key }, failed?.failure, waitedFor),
    );
  };
  const wait: Deadline<void> = new Deadline<void>(engine, startedAt, terms, (why) => {
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
      failed = await engine.leases.extend(leases, ms);
      askedAt = undefined;
      if (failed === undefined || !leases.every((lease) => engine.leases.isGood(lease))) {
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
