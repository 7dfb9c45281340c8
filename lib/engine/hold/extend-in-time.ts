import { later } from '../../common/clock.js';
import { pauseBefore } from '../../common/background-retry.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import type { FailedExtension } from '../lease/lease-extension.js';
import type { Lease } from '../lease/lease.js';
import { ANSWER_GRACE } from '../time/time-limits.js';
import { Wait, type WaitTerms } from '../time/wait.js';

/** Extends leases once; rejects if the store could not be asked. */
export async function extendOrThrow(
  { leases: all, reporter }: EngineContext,
  leases: readonly Lease[],
  ms: number,
): Promise<void> {
  const failed = await all.extend(leases, ms);
  if (failed !== undefined) throw reporter.told(reporter.unavailable(failed.lease.key, failed.failure));
}

/**
 * Extends leases for a caller who waits: tried again until `waitTime` is over (B10). Resolves also when one of them
 * turned out to be lost; rejects with the signal's reason, or because the store could not be asked.
 */
export function extendInTime(
  engine: EngineContext,
  leases: readonly Lease[],
  ms: number,
  terms: WaitTerms,
  startedAt: MonotonicMs,
): Promise<void> {
  const extension = new Extension(engine, leases, ms, terms, startedAt);
  engine.track(extension.run());
  return extension.wait.promise;
}

class Extension {
  readonly wait: Wait<void>;
  private failed: FailedExtension | undefined;
  private isAsking = false;
  private isLast: boolean;
  private endPause: (() => void) | undefined;

  constructor(
    private readonly engine: EngineContext,
    private readonly leases: readonly Lease[],
    private readonly ms: number,
    terms: WaitTerms,
    startedAt: MonotonicMs,
  ) {
    this.isLast = terms.waitTime === 0;
    this.wait = new Wait<void>(engine, startedAt, terms, (wait, why) => {
      if (why === 'aborted') wait.fail(wait.abortReason);
      else if (this.isLast || !this.isAsking) this.fail();
      else {
        // Time for the answer, which may be on its way.
        this.isLast = true;
        wait.prolong(later(engine.clock.monotonic(), ANSWER_GRACE));
      }
      this.endPause?.();
    });
  }

  /** Resolves when the outcome is there and no request is under way. */
  async run(): Promise<void> {
    const { engine, wait, leases } = this;
    // Like any single request, the only one of `waitTime: 0` takes as long as it takes.
    if (this.isLast) wait.listen();
    else wait.begin();
    for (let failures = 0; !wait.isSettled; failures += 1) {
      this.isAsking = true;
      const failed = await engine.leases.extend(leases, this.ms);
      this.isAsking = false;
      if (failed === undefined || !leases.every((lease) => engine.leases.isGood(lease))) {
        wait.succeed();
        return;
      }
      this.failed = failed;
      if (this.isLast || !failed.failure.retryable) this.fail();
      else await this.pause(pauseBefore(failures));
    }
  }

  private pause(ms: number): Promise<void> {
    if (this.wait.isSettled) return Promise.resolve();
    return new Promise((resolve) => {
      this.endPause = this.engine.backgroundRetry.callAfter(ms, () => {
        this.endPause = undefined;
        resolve();
      });
    });
  }

  private fail(): void {
    const { engine, wait, failed, leases } = this;
    if (wait.isSettled) return;
    const key = (failed?.lease ?? leases[0])?.key ?? '';
    const waitedFor = wait.waitTime === 0 ? undefined : engine.clock.monotonic() - wait.startedAt;
    engine.reporter.refuse(wait, engine.reporter.unavailable(key, failed?.failure, waitedFor));
  }
}
