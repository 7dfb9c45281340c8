import type { LockStoreError, MonotonicMs, RenewRequest } from '../../stores/port/lock-store.js';
import { deadlineOf, later } from '../../common/clock.js';
import { pauseBefore } from '../../common/background-retry.js';
import { GRACE } from '../queue/key-queue.js';
import type { Lease } from './lease.js';
import type { LockEngine } from '../lock-engine.js';
import { storeFailure } from '../../stores/port/store-failure.js';
import { Wait, type WaitTerms } from '../queue/wait.js';
import { BATCH } from './watchdog.js';

/** A lease that could not be prolonged, and why. */
export interface Unprolonged {
  readonly lease: Lease;
  readonly failure: LockStoreError;
}

/**
 * Makes leases last at least `ms` from now, many by one request; those that do so anyway are not asked for. Answers the
 * first failure. What the store has no more is lost, which is no failure.
 */
export async function prolong(
  engine: LockEngine,
  leases: readonly Lease[],
  ms: number,
): Promise<Unprolonged | undefined> {
  const sentAt = engine.leases.sendingAt();
  const wanted = deadlineOf(sentAt, ms) - sentAt;
  const due = leases.filter((lease) => {
    const sureFor = engine.leases.sureFor(lease, sentAt);
    return sureFor <= 0 || sureFor < wanted;
  });
  const batches: Promise<Unprolonged | undefined>[] = [];
  for (let start = 0; start < due.length; start += BATCH) {
    batches.push(renew(engine, due.slice(start, start + BATCH), ms, sentAt));
  }
  const failures = await Promise.all(batches);
  return failures.find((failure) => failure !== undefined);
}

async function renew(
  engine: LockEngine,
  leases: readonly Lease[],
  ms: number,
  sentAt: MonotonicMs,
): Promise<Unprolonged | undefined> {
  const requests = leases.map((lease): RenewRequest => {
    lease.isExtended ||= ms > engine.watchdogTimeout;
    return { key: lease.key, owner: lease.owner, lease: ms };
  });
  let first: Unprolonged | undefined;
  try {
    const replies = await engine.session.renew(requests);
    leases.forEach((lease, index) => {
      const reply = replies[index];
      if (reply instanceof Error) first ??= { lease, failure: storeFailure(reply) };
      else engine.leases.renewed(lease, reply, sentAt, ms);
    });
  } catch (error) {
    const [lease] = leases;
    if (lease !== undefined) first = { lease, failure: storeFailure(error) };
  }
  return first;
}

/**
 * Prolongs leases for a caller who waits: tried again until `waitTime` is over (B10). Resolves also when one of them
 * turned out to be lost; rejects with the signal's reason, or because the store could not be asked.
 */
export function prolongInTime(
  engine: LockEngine,
  leases: readonly Lease[],
  ms: number,
  terms: WaitTerms,
  startedAt: MonotonicMs,
): Promise<void> {
  const attempts = new Prolongation(engine, leases, ms, terms, startedAt);
  engine.track(attempts.run());
  return attempts.wait.promise;
}

class Prolongation {
  readonly wait: Wait<void>;
  private failed: Unprolonged | undefined;
  private isAsking = false;
  private isLast: boolean;
  private endPause: (() => void) | undefined;

  constructor(
    private readonly engine: LockEngine,
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
        wait.prolong(later(engine.clock.monotonic(), GRACE));
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
      const failed = await prolong(engine, leases, this.ms);
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
      this.endPause = this.engine.pause(ms, () => {
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
