import type { ResolvedLockOptions } from '../../model/resolved-lock.options.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import { ANSWER_GRACE } from '../time/time-limits.js';
import { Wait } from '../time/wait.js';

/**
 * Resolves when the store has been asked to connect, and has or has failed; rejects when the call's time or signal ends
 * before (B10). The only try of `waitTime: 0` takes as long as it takes.
 */
export async function whenStarted(
  engine: EngineContext,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<void> {
  const { waitTime, signal } = options;
  const terms = { signal, waitTime: waitTime === 0 ? Infinity : waitTime + ANSWER_GRACE };
  const wait = new Wait<void>(engine, startedAt, terms, (_, why) => {
    const waitedFor = engine.clock.monotonic() - startedAt;
    const error =
      why === 'aborted'
        ? wait.abortReason
        : engine.reporter.unavailable({ ...options, key }, undefined, waitedFor);
    engine.reporter.refuse(wait, error);
  });
  void engine.start().then(() => {
    wait.succeed();
  });
  wait.begin();
  await wait.promise;
}
