import type { Waiter } from './waiter.js';
import type { QueueStatus } from './queue-status.js';
import type { EngineContext } from '../context.js';

/** What is known of a key when a caller's time is over. */
interface Situation {
  /** Whether this process keeps the caller waiting. */
  readonly isHeldHere: boolean;
  /** Whether the store owes an answer for so long that what it said before can't be relied on. */
  readonly isSilent: boolean;
  readonly holderLeaseLeft: number | undefined;
}

/** B11: held by others, or not to be asked. One key of several may also not have been asked for in time. */
export function endOfWait(
  engine: EngineContext,
  caller: Waiter,
  told: QueueStatus,
  { isHeldHere, isSilent, holderLeaseLeft }: Situation,
): Error {
  if (isHeldHere || told.tellsOfHolder(caller.startedAt, isSilent)) {
    return engine.reporter.timedOut(caller, holderLeaseLeft);
  }
  if (caller.partOf !== undefined && told.isNothing && !isSilent) return engine.reporter.outOfTime(caller);
  const waitedFor = engine.clock.monotonic() - caller.startedAt;
  return engine.reporter.unavailable(caller.key, told.failure, waitedFor);
}
