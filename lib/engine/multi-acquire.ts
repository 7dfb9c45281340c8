import { later } from '../common/clock.js';
import type { Timer } from '../common/timer-queue.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import { type Grant, LockStoreError, type MonotonicMs } from '../stores/port/lock-store.js';
import { unusableReply } from '../stores/port/store-failure.js';
import { acquire, checkMinimumHold, whenStarted } from './acquire.js';
import type { LockEngine } from './lock-engine.js';
import { extendInTime } from './extend.js';
import type { Hold } from './hold.js';
import { MultiHold } from './multi-hold.js';
import { Deadline, type PartOptions, PendingAcquire } from './pending-acquire.js';
import { heldKeys, innermostHold, scopeOfCaller } from './scope.js';
import { ANSWER_GRACE, LATEST_OUTCOME, SILENCE } from './time-limits.js';
import { isBack, isDeadConnection, TryRequest } from './try-acquire.js';

/**
 * Acquires several keys for one caller, or none (B12): in one request if the store supports that. Otherwise it acquires
 * the keys before the first one that is not free, waits for that one, and continues after it. Every caller acquires
 * keys in the same order, so no two deadlock.
 */
export class MultiAcquire implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  private readonly startedAt: MonotonicMs;
  /** Without `holdAtLeast`: keys that are released because another is missing don't stay held. */
  private readonly each: ResolvedLockOptions;
  /** The same once the store has replied: from then on nothing waits beyond `waitTime`. */
  private next: PartOptions;
  private isAnswered = false;
  /** Whether `waitTime: 0` has had its second attempt. */
  private wasRepeated = false;
  private isOver = false;
  private holds: Hold[] = [];
  /** How many holds there were before the last request. */
  private earlier = 0;
  private released: Promise<unknown> = Promise.resolve();
  private readonly keepAlive: KeepAlive;

  /** @param keys sorted, without duplicates */
  constructor(
    private readonly engine: LockEngine,
    private readonly keys: readonly string[],
    private readonly options: ResolvedLockOptions,
  ) {
    this.startedAt = engine.clock.monotonic();
    this.each = { ...options, holdAtLeast: 0 };
    this.next = { ...this.each, partOf: keys.length, heldKey: undefined };
    this.keepAlive = new KeepAlive(engine, options.leaseTime);
  }

  async run(): Promise<MultiHold> {
    const { engine, options, startedAt } = this;
    const { waitTime } = options;
    options.signal?.throwIfAborted();
    // The single request of `waitTime: 0` has no time limit.
    if (waitTime !== 0 && waitTime !== Infinity) engine.timers.set(this, later(startedAt, waitTime));
    try {
      // Never in the same turn, so that a caller that aborts right after the call sends nothing.
      if (engine.isStarted || engine.isClosing) await Promise.resolve();
      else await whenStarted(engine, this.keys[0] ?? '', options, startedAt);
      checkMinimumHold(engine.session, options.holdAtLeast);
      for (;;) {
        const whole = await this.attempt();
        if (whole !== undefined) return whole;
      }
    } finally {
      if (this.heapIndex !== -1) engine.timers.clear(this);
    }
  }

  /** `waitTime` has ended: releases the acquired keys at once, even while a request is pending (B10). */
  fire(): void {
    if (!this.isAnswered || this.holds.length === this.keys.length) return;
    this.isOver = true;
    this.startRelease();
  }

  /** Undefined if it has to be repeated. */
  private async attempt(): Promise<MultiHold | undefined> {
    try {
      await this.acquireEach();
      const whole = await this.complete();
      if (whole === undefined) await this.release();
      return whole;
    } catch (error) {
      await this.release();
      throw error;
    } finally {
      this.keepAlive.end();
    }
  }

  private async acquireEach(): Promise<void> {
    const { engine, keys, startedAt } = this;
    const alone = this.countAlone();
    let canTogether = true;
    let failures = 0;
    /** Index of the first key that is known not to be free. */
    let busy = keys.length;
    for (let [key] = keys; key !== undefined; key = keys[this.holds.length]) {
      this.assertInTime(key);
      const index = this.holds.length;
      const options = this.isAnswered ? this.next : this.each;
      if (canTogether && index >= alone && busy - index > 1) {
        const some = keys.slice(index, busy);
        // Waiting callers of this process come first, and the store can't grant a key that one of them holds.
        const used = some.findIndex((each) => engine.keys.of(each) !== undefined);
        if (used !== -1) {
          busy = index + used;
          this.noteBusy(busy, engine.keys.of(some[used] ?? '')?.keepsOut(options.limit) === true);
          continue;
        }
        const result = await acquireTogether(engine, some, options, startedAt);
        if (result.outcome === 'busy') {
          this.isAnswered = true;
          busy = index + result.index;
          this.noteBusy(busy, true);
          continue;
        }
        if (result.outcome === 'held') {
          this.add(result.holds);
          continue;
        }
        // After a failure, keys are requested one by one until the store is reachable again.
        if (result.outcome === 'failed') failures += 1;
        canTogether = result.outcome === 'failed' && failures === 1;
        busy = index;
      }
      this.add([await acquire(engine, key, options, startedAt, engine.clock.monotonic())]);
      if (index >= busy) {
        busy = keys.length;
        this.noteBusy(busy, false);
      }
    }
  }

  private noteBusy(index: number, isHeld: boolean): void {
    this.next = { ...this.next, heldKey: isHeld ? this.keys[index] : undefined };
  }

  private add(some: readonly Hold[]): void {
    this.earlier = this.holds.length;
    this.holds.push(...some);
    this.isAnswered ||= some.some(({ lease }) => lease.startedAt >= this.startedAt);
    this.keepAlive.track(this.holds);
    // Granted at the moment when the time ended.
    if (this.isOver) this.startRelease();
  }

  private assertInTime(key: string): void {
    const { engine, startedAt, next } = this;
    const { waitTime } = next;
    const isInTime = waitTime === 0 || !this.isAnswered || engine.clock.monotonic() - startedAt < waitTime;
    if (!this.isOver && isInTime) return;
    this.isOver = true;
    throw engine.reporter.reported(
      engine.reporter.outOfTime({ ...next, key, startedAt, holding: this.holding }),
    );
  }

  /** Keys of the locks that the caller holds. */
  private get holding(): readonly string[] {
    return heldKeys(this.engine, scopeOfCaller());
  }

  /** How many keys are requested one by one in any case: up to the last one that the caller holds already. */
  private countAlone(): number {
    if (!this.options.reentrant) return 0;
    return this.keys.reduce((alone, key, index) => {
      return innermostHold(this.engine, key) === undefined ? alone : index + 1;
    }, 0);
  }

  /** Combines all holds into one; undefined if one was lost meanwhile and there is time for another attempt. */
  private async complete(): Promise<MultiHold | undefined> {
    const { engine, keys, holds, startedAt, options } = this;
    const { waitTime, leaseTime } = options;
    this.keepAlive.end();
    if (leaseTime !== undefined && this.earlier > 0) {
      // The last key is acquired: the leases of the others begin now as well.
      const leases = holds.slice(0, this.earlier).map(({ lease }) => lease);
      await extendInTime(engine, leases, leaseTime, options, startedAt);
    }
    const [first] = holds;
    const lost = holds.find(({ isOver }) => isOver);
    if (lost === undefined && first !== undefined) {
      for (const hold of holds) hold.keepFor(options.holdAtLeast);
      return new MultiHold(engine, first, holds, options);
    }
    if (engine.clock.monotonic() - startedAt < waitTime) return undefined;
    // A loss does not predict the next attempt, so `waitTime: 0` gets a second one.
    if (waitTime === 0 && !this.wasRepeated) {
      this.wasRepeated = true;
      return undefined;
    }
    const key = lost?.key ?? keys[0] ?? '';
    throw engine.reporter.reported(
      engine.reporter.lostAgain({ ...options, key, startedAt, holding: this.holding }),
    );
  }

  /** Before the caller gets the outcome, within limits (B10). */
  private async release(): Promise<void> {
    this.startRelease();
    await this.released;
  }

  private startRelease(): void {
    const releases = [...this.holds].reverse().map((hold) => hold.release());
    this.holds = [];
    this.keepAlive.end();
    if (releases.length === 0) return;
    const { engine, startedAt, options } = this;
    const latest = options.waitTime === 0 ? Infinity : startedAt + options.waitTime + LATEST_OUTCOME;
    const patience = Math.max(0, Math.min(ANSWER_GRACE, latest - engine.clock.monotonic()));
    this.released = engine.timers.within(patience, Promise.all([this.released, ...releases]));
  }
}

/** What part of a lease is left when it has to be renewed, and when it is renewed along with another one. */
const DUE = 2 / 3;
const NEARLY_DUE = 5 / 6;

/** Extends holds with a `leaseTime` while the call waits for further keys: it counts from when all are acquired. */
class KeepAlive implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private holds: readonly Hold[] = [];

  constructor(
    private readonly engine: LockEngine,
    private readonly leaseTime: number | undefined,
  ) {}

  /** Keeps exactly these holds, until the end. */
  track(holds: readonly Hold[]): void {
    this.holds = holds;
    if (this.leaseTime !== undefined && this.heapIndex === -1) this.wait(this.leaseTime, 0);
  }

  end(): void {
    this.holds = [];
    if (this.heapIndex !== -1) this.engine.timers.clear(this);
  }

  fire(now: MonotonicMs): void {
    const { engine, holds, leaseTime = 0 } = this;
    const due = holds
      .filter(({ isOver }) => !isOver)
      .map(({ lease }) => lease)
      .filter((lease) => engine.leases.sureFor(lease, now) < leaseTime * NEARLY_DUE);
    // A failure is retried, or noticed when all keys are acquired.
    void engine.leases.extend(due, leaseTime);
    this.wait(leaseTime, leaseTime * NEARLY_DUE);
  }

  /** Until the next hold is due. Those with less than `renewed` left are being renewed. */
  private wait(leaseTime: number, renewed: number): void {
    const { engine, holds } = this;
    const now = engine.clock.monotonic();
    let pause = leaseTime * (1 - DUE);
    for (const { lease, isOver } of holds) {
      const left = isOver ? 0 : engine.leases.sureFor(lease, now);
      if (left > 0 && left >= renewed) pause = Math.min(pause, left - leaseTime * DUE);
    }
    engine.timers.set(this, later(now, Math.max(pause, 1)));
  }
}

/** The outcome of one request for several locks. */
type TogetherResult =
  | { readonly outcome: 'held'; readonly holds: readonly Hold[] }
  /** The first key that is not free. */
  | { readonly outcome: 'busy'; readonly index: number }
  /** The keys can't be acquired together. */
  | { readonly outcome: 'unsupported' }
  /** Not this time. */
  | { readonly outcome: 'failed' };

/** Requests several locks in one request. */
async function acquireTogether(
  engine: LockEngine,
  keys: readonly string[],
  options: ResolvedLockOptions | PartOptions,
  startedAt: MonotonicMs,
): Promise<TogetherResult> {
  if (engine.session.acquireAll === undefined || engine.isClosing) return { outcome: 'unsupported' };
  const scope = scopeOfCaller();
  const callers = keys.map((key) => new PendingAcquire(engine, key, options, startedAt, scope, startedAt));
  const attempt = new MultiTry(engine, callers, new TryRequest(engine, callers), options, startedAt);
  engine.track(attempt.run());
  return await attempt.wait.promise;
}

/** One caller's request for several locks. */
class MultiTry {
  readonly wait: Deadline<TogetherResult>;
  /** How long the reply took, ms, if it came too late. */
  private lateAfter: number | undefined;

  constructor(
    private readonly engine: LockEngine,
    private readonly callers: readonly PendingAcquire[],
    private readonly request: TryRequest,
    private readonly options: ResolvedLockOptions | PartOptions,
    startedAt: MonotonicMs,
  ) {
    this.wait = new Deadline(engine, startedAt, options, (why) => {
      if (why === 'aborted') this.wait.fail(this.wait.abortReason);
      else this.timeIsOver();
    });
  }

  /** Resolves when no request is pending. */
  async run(): Promise<void> {
    // The single request of `waitTime: 0` has no time limit.
    if (this.wait.waitTime === 0) this.wait.listen();
    else this.wait.begin();
    // Aborted since the call began.
    if (this.wait.isSettled) return;
    try {
      await this.send();
    } catch (error) {
      await this.failed(unusableReply(error));
    }
  }

  private async send(): Promise<void> {
    const { engine, callers, request, wait } = this;
    const answer = await request.send(async (requests) => await engine.session.acquireAll?.(requests));
    if (!request.end()) return;
    if (answer instanceof LockStoreError) await this.failed(answer);
    else if (answer === null || answer === undefined) wait.succeed({ outcome: 'unsupported' });
    else if (typeof answer === 'number' && answer < callers.length) {
      wait.succeed({ outcome: 'busy', index: answer });
    } else if (request.mayBeOver || request.wasBroken || engine.isClosing || wait.isSettled) {
      // Set before the withdrawal, since the wait may end during it.
      if (request.mayBeOver) this.lateAfter = engine.clock.monotonic() - request.sentAt;
      await request.withdraw(false);
      wait.succeed({ outcome: 'failed' });
    } else {
      // Too late for a listener that aborts the wait when it is notified of a grant.
      wait.stop();
      const grants: readonly Grant[] = typeof answer === 'number' ? [] : answer;
      request.granted(grants);
      const holds = await Promise.all(callers.map(({ promise }) => promise));
      wait.succeed({ outcome: 'held', holds });
    }
  }

  private timeIsOver(): void {
    const { engine, wait, options, request } = this;
    if (!('partOf' in options)) {
      if (wait.prolonged) this.fail(undefined);
      else wait.prolong(engine.clock.monotonic());
      return;
    }
    const [first] = this.callers;
    if (first === undefined || engine.clock.monotonic() - request.sentAt > SILENCE) this.fail(undefined);
    else this.end(engine.reporter.outOfTime(first));
  }

  /** Requests that may still succeed are repeated, key by key, but only for callers that wait. */
  private async failed(failure: LockStoreError): Promise<void> {
    const { engine, request, wait } = this;
    const withdrawn = failure.inDoubt ? request.withdraw(true) : undefined;
    const isRepeated =
      wait.waitTime > 0 ? failure.retryable : isDeadConnection(failure) && (await isBack(engine, withdrawn));
    if (isRepeated) wait.succeed({ outcome: 'failed' });
    else this.fail(failure);
    await withdrawn;
  }

  private fail(failure: LockStoreError | undefined): void {
    const { engine, wait, callers, lateAfter } = this;
    const [first] = callers;
    if (wait.isSettled || first === undefined) return;
    const waitedFor = engine.clock.monotonic() - wait.startedAt;
    const error =
      lateAfter === undefined
        ? engine.reporter.unavailable(first, failure, waitedFor)
        : engine.reporter.lateGrant(first, lateAfter);
    this.end(error);
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
