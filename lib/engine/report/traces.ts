import { performance } from 'node:perf_hooks';
import {
  acquireChannel,
  type AcquireOutcome,
  type AcquireTrace,
  holdChannel,
  type HoldTrace,
  isTraced,
} from '../../model/lock-channels.js';
import { type EventSubject, kindOf } from '../../model/lock-kind.js';
import type { LockHandle } from '../../model/lock-handle.js';
import {
  LockClosedError,
  LockConflictError,
  LockOptionsError,
  LockQueueFullError,
  LockTimeoutError,
  LockUnavailableError,
  LockUnsupportedError,
  LockUpgradeError,
} from '../../model/lock.errors.js';
import type { ResolvedLockOptions } from '../../model/lock.options.js';

const REFUSALS = [LockOptionsError, LockUnsupportedError, LockConflictError, LockUpgradeError];

/** Whether a call ended with the reason of its signal, which may be any error, or none. */
export function isAbortReason(error: unknown, { signal }: Pick<ResolvedLockOptions, 'signal'>): boolean {
  return signal?.aborted === true && signal.reason === error;
}

/** How a failed call ended. Any other error is the reason of its signal. */
export function outcomeOf(
  error: unknown,
  options: Pick<ResolvedLockOptions, 'skips' | 'signal'>,
): AcquireOutcome {
  if (isAbortReason(error, options)) return 'aborted';
  if (error instanceof LockTimeoutError) return options.skips ? 'skipped' : 'timeout';
  if (error instanceof LockQueueFullError) return 'queue-full';
  if (error instanceof LockUnavailableError) return 'unavailable';
  if (error instanceof LockClosedError) return 'closed';
  return REFUSALS.some((refusal) => error instanceof refusal) ? 'refused' : 'aborted';
}

/** Acquires locks and publishes a trace. First check whether there are subscribers. */
export function traceAcquire<H extends LockHandle>(
  instance: string | undefined,
  keys: readonly string[],
  options: ResolvedLockOptions,
  take: (options: ResolvedLockOptions) => Promise<H>,
): Promise<H> {
  const trace: AcquireTrace = { instance, keys, ...kindOf(options), waitTime: options.waitTime };
  const onWaiting = (): void => {
    trace.waitingSince ??= Date.now();
  };
  const traced = async (): Promise<H> => {
    const startedAt = performance.now();
    try {
      const handle = await take({ ...options, onWaiting });
      trace.outcome = 'granted';
      return handle;
    } catch (error) {
      trace.outcome = outcomeOf(error, options);
      throw error;
    } finally {
      trace.duration = performance.now() - startedAt;
    }
  };
  return acquireChannel.tracePromise(traced, trace);
}

/** A hold as traces show it. */
type TracedHold = LockHandle & EventSubject;

/** Runs work under a lock and publishes a trace of it. */
export function traceHold<R>(
  instance: string | undefined,
  hold: TracedHold,
  work: () => R,
): R | Promise<Awaited<R>> {
  if (!isTraced(holdChannel)) return work();
  const trace: HoldTrace = { instance, keys: hold.keys, ...kindOf(hold), handle: hold };
  const run = async (): Promise<unknown> => await work();
  return holdChannel.tracePromise(
    () => (trace.around === undefined ? run() : trace.around(run)),
    trace,
  ) as Promise<Awaited<R>>;
}
