import { later } from '../common/clock.js';
import { CallbackTimer } from '../common/timer-queue.js';
import { backoff } from '../model/lock-retry.options.js';
import type { ResolvedRetry } from '../model/lock-retry.options.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import type { AcquireContext } from './acquire.js';
import type { EngineContext } from './context.js';
import type { EndOfWait } from './deadline.js';
import { withHolder } from './holder-names.js';
import { isLeaseTooShort } from './lock-reporter.js';
import type { PendingAcquire } from './pending-acquire.js';
import { ANSWER_GRACE, SILENCE } from './time-limits.js';
import { type Refusal, tryForLock, type TryRequest, unavailableOf } from './try-acquire.js';

/** For a caller that may not wait (`maxWaiting`): gets a free lock only. */
export const ONCE: ResolvedRetry = { maxAttempts: 1, backoff: backoff.fixed(1) };

/** A caller with `retry`: single tries with pauses between them, and no position in a queue. */
export class RetryingAcquire {
  private tries = 0;
  isWaiting = false;
  private triedAt = 0;
  /** Of the last try that has ended. */
  private refusal: Refusal | undefined;
  /** Whether two grants in a row came too late for the caller's own `leaseTime`, as every further one would. */
  private isLateAgain = false;
  private endPause: (() => void) | undefined;
  /** How long the last try that has ended took, ms. */
  private took = 0;
  /** Whether there is no time for another try. */
  private isLastTry = false;
  /** The last request, under way or not. */
  request: TryRequest | undefined;
  private isOver = false;

  private readonly engine: EngineContext;

  constructor(
    private readonly context: AcquireContext,
    readonly caller: PendingAcquire,
    private readonly retry: ResolvedRetry,
  ) {
    this.engine = context.engine;
  }

  /** Resolves when the caller has its outcome and no request is under way. */
  async run(): Promise<void> {
    const { context, engine, caller } = this;
    caller.onEnd = this.giveUp;
    caller.begin();
    context.retrying.add(this);
    while (!caller.isSettled && !this.isOver) {
      this.triedAt = engine.clock.monotonic();
      const refusal = await tryForLock(context, caller, this);
      this.took = engine.clock.monotonic() - this.triedAt;
      if (refusal !== undefined) await this.refused(refusal);
    }
    context.retrying.delete(this);
    this.stopWaiting();
  }

  /** The application shuts down (B60). */
  close(): void {
    this.end(this.engine.reporter.closed(this.caller.key));
  }

  private async refused(refusal: Refusal): Promise<void> {
    if (this.caller.isSettled) return;
    this.tries += 1;
    this.isLateAgain = isLate(refusal) && isLate(this.refusal) && isLeaseTooShort(this.caller, refusal.after);
    this.refusal = refusal;
    const { caller, context, isWaiting } = this;
    if (!isWaiting && caller.maxWaiting !== Infinity && (this.retry === ONCE || context.isFull(caller))) {
      this.refuse(refusal);
      return;
    }
    if (!isWaiting) {
      this.isWaiting = true;
      context.changeWaiting(caller.key, 1);
    }
    if (this.isLast(refusal)) {
      this.fail();
      return;
    }
    caller.onWaiting?.();
    if (!refusal.held && refusal.failure !== undefined) {
      this.engine.storeReporter.waitFailed(refusal.failure);
    }
    await this.pause(this.retry.backoff.pauseAfter(this.tries));
  }

  private isLast(refusal: Refusal): boolean {
    if (!refusal.held && refusal.failure?.retryable === false) return true;
    if (this.isLateAgain) return true;
    return this.tries >= this.retry.maxAttempts || this.caller.prolonged;
  }

  private pause(ms: number): Promise<void> {
    const { timers, clock } = this.engine;
    return new Promise((resolve) => {
      const reminder = new CallbackTimer(() => this.endPause?.());
      this.endPause = () => {
        this.endPause = undefined;
        timers.clear(reminder);
        resolve();
      };
      const now = clock.monotonic();
      const lastChance = this.lastChance();
      const isCut = !this.isLastTry && lastChance < now + ms;
      if (isCut) this.isLastTry = true;
      timers.set(reminder, isCut ? lastChance : later(now, ms));
    });
  }

  /** When the last try has to begin if answers take longer than an outcome may be late (B10). */
  private lastChance(): MonotonicMs {
    const { startedAt, waitTime } = this.caller;
    return later(startedAt, this.took > ANSWER_GRACE / 2 ? waitTime - this.took : Infinity);
  }

  private readonly giveUp = (why: EndOfWait): void => {
    const { caller, engine, request } = this;
    const isPart = caller.partOf !== undefined;
    if (why === 'aborted') this.end(caller.abortReason);
    else if (isPart && request?.isUnderWay === true) this.takeBack(request);
    // The other keys are being released, so that another try would be of no use.
    else if (isPart || caller.prolonged || (this.isLastTry && this.endPause !== undefined)) this.fail();
    else {
      // For the answer of the try that is under way, or that begins now (B10).
      caller.prolonged = true;
      caller.prolong(later(engine.clock.monotonic(), ANSWER_GRACE));
      this.endPause?.();
    }
  };

  /** Cancels the request under way before the caller hears of the outcome (B10). */
  private takeBack(request: TryRequest): void {
    this.isOver = true;
    const error = this.failure();
    void request.takeBack(this.caller, ANSWER_GRACE).then(() => {
      this.end(error);
    });
  }

  /** As many callers wait as this one accepts. */
  private refuse({ held }: Refusal): void {
    const { caller, engine } = this;
    if (held) this.end(engine.reporter.queueFull(caller, this.context.countWaiting(caller.key)));
    else this.fail();
  }

  private fail(): void {
    const error = this.failure();
    const named = withHolder(this.engine, this.caller, error);
    if (named === undefined) {
      this.end(error);
      return;
    }
    this.isOver = true;
    this.caller.stop();
    void named.then((outcome) => {
      this.end(outcome);
    });
  }

  /** B11: the last answer decides. */
  private failure(): Error {
    const { caller, engine, refusal, tries } = this;
    const { reporter } = engine;
    const now = engine.clock.monotonic();
    if (refusal?.held === true)
      return reporter.triesTimedOut(
        caller,
        refusal.holderLeaseLeft,
        tries,
        this.context.keys.of(caller.key)?.ownHolder,
      );
    if (this.request?.isHeldByOthers === true) return reporter.triesTimedOut(caller, undefined, tries + 1);
    const isSilent = now - this.triedAt > SILENCE;
    if (caller.partOf !== undefined && refusal === undefined && !isSilent) return reporter.outOfTime(caller);
    const waitedFor = now - caller.startedAt;
    if (refusal === undefined) return reporter.unavailable(caller, undefined, waitedFor);
    return unavailableOf(reporter, caller, refusal, waitedFor);
  }

  private stopWaiting(): void {
    if (this.isWaiting) this.context.changeWaiting(this.caller.key, -1);
    this.isWaiting = false;
  }

  private end(error: unknown): void {
    this.stopWaiting();
    this.engine.reporter.refuse(this.caller, error);
    this.endPause?.();
  }
}

/** Whether the grant came too late. */
function isLate(refusal: Refusal | undefined): refusal is Refusal & { readonly after: number } {
  return refusal?.held === false && refusal.after !== undefined;
}
