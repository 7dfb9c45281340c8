import { later } from '../../common/clock.js';
import type { ResolvedLockOptions } from '../../model/resolved-lock.options.js';
import { LockStoreError, type MonotonicMs } from '../../stores/port/lock-store.js';
import { unusableReply } from '../../stores/port/store-failure.js';
import type { EngineContext } from '../context.js';
import type { Hold } from '../hold/hold.js';
import { Waiter, type PartOptions } from '../queue/waiter.js';
import { scopeOfCaller } from '../scope/scope.js';
import { ANSWER_GRACE, LATEST_OUTCOME, SILENCE } from '../time/time-limits.js';
import { Wait } from '../time/wait.js';
import type { AcquireContext } from './acquire-context.js';
import { TryRequest } from './try-request.js';

/**
 * The holds; or the index of the first key that is not to be had at once; or null when the keys can't be taken together,
 * undefined when it did not come to that.
 */
type Outcome = readonly Hold[] | number | null | undefined;

/** Asks the store for several locks in one request. */
export async function takeTogether(
  context: AcquireContext,
  keys: readonly string[],
  options: ResolvedLockOptions | PartOptions,
  startedAt: MonotonicMs,
): Promise<Outcome> {
  const { engine } = context;
  if (engine.session.takeAll === undefined || engine.isClosing) return null;
  const scope = scopeOfCaller();
  const callers = keys.map((key) => new Waiter(engine, key, options, startedAt, scope, startedAt));
  const attempt = new MultiTry(engine, callers, new TryRequest(context, callers), options, startedAt);
  engine.track(attempt.run());
  return await attempt.wait.promise;
}

/** One caller's request for several locks. */
class MultiTry {
  readonly wait: Wait<Outcome>;
  private prolonged = false;

  constructor(
    private readonly engine: EngineContext,
    private readonly callers: readonly Waiter[],
    private readonly request: TryRequest,
    private readonly options: ResolvedLockOptions | PartOptions,
    startedAt: MonotonicMs,
  ) {
    this.wait = new Wait(engine, startedAt, options, (wait, why) => {
      if (why === 'aborted') wait.fail(wait.abortReason);
      else this.timeIsOver();
    });
  }

  /** Resolves when nothing is under way any more. */
  async run(): Promise<void> {
    // Like any single request, the only one of `waitTime: 0` takes as long as it takes.
    if (this.wait.waitTime === 0) this.wait.listen();
    else this.wait.begin();
    // By a signal that was aborted since the caller asked.
    if (this.wait.isSettled) return;
    try {
      await this.ask();
    } catch (error) {
      await this.failed(unusableReply(error));
    }
  }

  private async ask(): Promise<void> {
    const { engine, callers, request, wait } = this;
    const answer = await request.send(async (requests) => await engine.session.takeAll?.(requests));
    if (!request.end()) return;
    if (answer instanceof LockStoreError) await this.failed(answer);
    else if (answer === null || answer === undefined) wait.succeed(null);
    else if (typeof answer === 'number' && answer < callers.length) wait.succeed(answer);
    else if (request.mayBeOver || request.wasBroken || engine.isClosing || wait.isSettled) {
      await request.withdraw(false);
      wait.succeed(undefined);
    } else {
      // A listener that hears of a grant and aborts the wait comes too late.
      wait.stop();
      request.granted(typeof answer === 'number' ? [] : answer);
      wait.succeed(await Promise.all(callers.map(({ promise }) => promise)));
    }
  }

  private timeIsOver(): void {
    const { engine, wait, options, request } = this;
    if (!('partOf' in options)) {
      if (this.prolonged) this.fail(undefined);
      // Time for the answer, which may be on its way (B10).
      else wait.prolong(later(engine.clock.monotonic(), ANSWER_GRACE));
      this.prolonged = true;
      return;
    }
    const [first] = this.callers;
    if (first === undefined || engine.clock.monotonic() - request.sentAt > SILENCE) this.fail(undefined);
    else this.end(engine.reporter.outOfTime(first));
  }

  /** Asking again, key by key, is for what can get through, and for callers who wait. */
  private async failed(failure: LockStoreError): Promise<void> {
    if (!failure.retryable || this.wait.waitTime === 0) this.fail(failure);
    else this.wait.succeed(undefined);
    if (failure.inDoubt) await this.request.withdraw(true);
  }

  private fail(failure: LockStoreError | undefined): void {
    const { engine, wait, callers } = this;
    if (wait.isSettled) return;
    const waitedFor = engine.clock.monotonic() - wait.startedAt;
    const [first] = callers;
    if (first !== undefined) this.end(engine.reporter.unavailable(first, failure, waitedFor));
  }

  private end(error: Error): void {
    const { engine, wait, request } = this;
    if (!request.isUnderWay) {
      engine.reporter.refuse(wait, error);
      return;
    }
    const patience = wait.startedAt + wait.waitTime + LATEST_OUTCOME - engine.clock.monotonic();
    void request.takeBack(wait, Math.max(0, patience)).then(() => {
      engine.reporter.refuse(wait, error);
    });
  }
}
