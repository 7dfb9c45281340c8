import type { ResolvedLockOptions } from '../../model/resolved-lock.options.js';
import type { LockStoreError, Grant, MonotonicMs, OwnerId } from '../../stores/port/lock-store.js';
import { Waiter, type PartOptions } from '../queue/waiter.js';
import { later } from '../../common/clock.js';
import type { Hold } from '../hold/hold.js';
import type { EngineContext } from '../context.js';
import { ANSWER_GRACE, LATEST_OUTCOME, SILENCE } from '../time/time-limits.js';
import type { AcquireContext } from './acquire-context.js';
import { begin, requestOf } from './try-acquire.js';
import { storeFailure, unusableReply } from '../../stores/port/store-failure.js';
import { Wait } from '../time/wait.js';

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
  const attempt = new MultiTry(context, keys, options, startedAt);
  engine.track(attempt.run());
  return await attempt.outcome;
}

/** What is asked for one key. */
interface Part {
  readonly caller: Waiter;
  readonly owner: OwnerId;
}

/** One caller's request for several locks. */
class MultiTry {
  private readonly parts: readonly Part[];
  private readonly wait: Wait<Outcome>;
  private sentAt: MonotonicMs;
  private isUnderWay = false;
  /** Whether what the answer brings is being taken back, though the caller may not have heard of it yet. */
  private isTakenBack = false;
  private prolonged = false;

  private readonly engine: EngineContext;

  constructor(
    private readonly context: AcquireContext,
    keys: readonly string[],
    private readonly options: ResolvedLockOptions | PartOptions,
    startedAt: MonotonicMs,
  ) {
    const { engine } = context;
    this.engine = engine;
    this.sentAt = startedAt;
    this.parts = keys.map((key) => {
      return { caller: new Waiter(engine, key, options, startedAt), owner: engine.nextOwner() };
    });
    this.wait = new Wait(engine, startedAt, options, (wait, why) => {
      if (why === 'aborted') wait.fail(wait.abortReason);
      else this.timeIsOver();
    });
  }

  get outcome(): Promise<Outcome> {
    return this.wait.promise;
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
    const { engine, parts, wait } = this;
    const sentAt = engine.leases.sendingAt();
    this.sentAt = sentAt;
    let answer: readonly Grant[] | number | null | undefined;
    let wasBroken: boolean;
    try {
      answer = await this.takeAll();
      wasBroken = this.endRequest();
    } catch (error) {
      this.endRequest();
      if (!this.isTakenBack) await this.failed(storeFailure(error));
      return;
    }
    engine.reporter.storeAnswered();
    if (this.isTakenBack) return;
    if (answer === null || answer === undefined) {
      wait.succeed(null);
      return;
    }
    if (typeof answer === 'number' && answer < parts.length) {
      wait.succeed(answer);
      return;
    }
    const tooLate = parts.some(({ caller }) => engine.leases.mayBeOver(sentAt, caller.lease));
    if (tooLate || wasBroken || engine.isClosing || wait.isSettled) {
      await this.withdraw(false);
      wait.succeed(undefined);
      return;
    }
    const grants = typeof answer === 'number' ? [] : answer;
    const granted = grants.flatMap((grant, index) => {
      const part = parts[index];
      return part === undefined ? [] : [{ ...part, grant }];
    });
    if (granted.length < parts.length) throw new TypeError('it granted some of the locks only');
    // A listener that hears of a grant and aborts the wait comes too late.
    wait.stop();
    for (const { caller, owner, grant } of granted) begin(this.context, caller, owner, sentAt, grant);
    wait.succeed(await Promise.all(parts.map(({ caller }) => caller.promise)));
  }

  private async takeAll(): Promise<readonly Grant[] | number | null | undefined> {
    const { engine, parts } = this;
    const { tries } = this.context;
    this.isUnderWay = true;
    for (const { caller, owner } of parts) tries.begin(owner, caller.key);
    return await engine.session.takeAll?.(parts.map(({ caller, owner }) => requestOf(caller, owner)));
  }

  /** Answers whether a grant that the answer tells of is broken already. */
  private endRequest(): boolean {
    this.isUnderWay = false;
    return this.parts.filter(({ owner }) => this.context.tries.end(owner)).length > 0;
  }

  private timeIsOver(): void {
    const { engine, wait, options } = this;
    if (!('partOf' in options)) {
      if (this.prolonged) this.fail(undefined);
      // Time for the answer, which may be on its way (B10).
      else wait.prolong(later(engine.clock.monotonic(), ANSWER_GRACE));
      this.prolonged = true;
      return;
    }
    const [first] = this.parts;
    if (first === undefined || engine.clock.monotonic() - this.sentAt > SILENCE) this.fail(undefined);
    else this.end(engine.reporter.outOfTime(first.caller));
  }

  /** Asking again, key by key, is for what can get through, and for callers who wait. */
  private async failed(failure: LockStoreError): Promise<void> {
    if (!failure.retryable || this.wait.waitTime === 0) this.fail(failure);
    else this.wait.succeed(undefined);
    if (failure.inDoubt) await this.withdraw(true);
  }

  private fail(failure: LockStoreError | undefined): void {
    const { engine, wait, parts } = this;
    if (wait.isSettled) return;
    const waitedFor = engine.clock.monotonic() - wait.startedAt;
    this.end(engine.reporter.unavailable(parts[0]?.caller.key ?? '', failure, waitedFor));
  }

  private end(error: Error): void {
    const { engine, wait } = this;
    if (!this.isUnderWay) {
      engine.reporter.refuse(wait, error);
      return;
    }
    // What the answer would bring is taken back before it is here, and before the caller hears of it (B10).
    this.isTakenBack = true;
    wait.stop();
    const patience = wait.startedAt + wait.waitTime + LATEST_OUTCOME - engine.clock.monotonic();
    const withdrawn = this.withdraw(true);
    engine.track(withdrawn);
    void engine.timers.within(Math.max(0, patience), withdrawn).then(() => {
      engine.reporter.refuse(wait, error);
    });
  }

  private async withdraw(inDoubt: boolean): Promise<void> {
    const { engine, parts } = this;
    await Promise.all(parts.map(({ caller, owner }) => engine.withdraw(caller.key, owner, inDoubt)));
  }
}
