import { Deferred } from '../../common/deferred.js';
import type { ResolvedRetry } from '../../model/lock-retry.options.js';
import {
  type AcquireReply,
  type Grant,
  LockStoreError,
  type MonotonicMs,
  type OwnerId,
} from '../../stores/port/lock-store.js';
import { storeFailure, unusableReply } from '../../stores/port/store-failure.js';
import { withHolder } from './holder-names.js';
import { startHold } from './key-runner.js';
import type { LeaseLeft } from '../report/lock-reporter.js';
import type { AcquireContext } from './acquire.js';
import type { EndOfWait } from '../holds/deadline.js';
import type { PendingAcquire } from './pending-acquire.js';
import { ANSWER_GRACE, isLeaseTooShort, RECONNECT, SILENCE } from '../machine/time-limits.js';

/** Why an attempt failed. */
type Refusal =
  | { readonly because: 'held'; readonly holderLeaseLeft: LeaseLeft | undefined }
  | { readonly because: 'unavailable'; readonly failure: LockStoreError }
  /** Granted too late, after this many ms. */
  | { readonly because: 'late'; readonly took: number };

/** Whether the store has rejected the request, so that repeating it can't help. */
function isRejected(refusal: Refusal): boolean {
  return refusal.because === 'unavailable' && !refusal.failure.retryable;
}

/**
 * The store may have granted the lock to a request of this process that no caller needs any more. Resolves when all of
 * these have been withdrawn, or when the store has not replied for too long; undefined if there are none.
 */
export function leavingOwn(
  { keys, leaving, timers }: AcquireContext,
  key: string,
): (() => Promise<void>) | undefined {
  const runner = keys.of(key);
  const left = leaving.get(key);
  if (runner?.isLeaving !== true && left === undefined) return undefined;
  return () => timers.within(SILENCE, Promise.all([runner?.idle(), left]));
}

/** Whether the withdrawal is confirmed soon, which takes a new connection. */
async function isBack(engine: AcquireContext, withdrawn: Promise<boolean> | undefined): Promise<boolean> {
  let isConfirmed = false;
  await engine.timers.within(
    RECONNECT,
    Promise.resolve(withdrawn).then((done) => (isConfirmed = done === true)),
  );
  return isConfirmed;
}

/** Why one of several keys was not acquired in the attempt for all of them: its caller may wait for it. */
export class Missed extends Error {
  /** @param failure of the store; undefined if the key is held */
  constructor(
    readonly isHeld: boolean,
    readonly failure?: LockStoreError,
  ) {
    super('the key was not acquired');
  }
}

/**
 * A caller without a position in a queue: single attempts with pauses between them (`retry`), or only one, for
 * `waitTime: 0`, a wait that shutdown no longer allows, a caller that may not wait (`maxWaiting`), and several keys.
 */
export class UnqueuedAcquire {
  /** The owner of the pending request. */
  private pending: OwnerId | undefined;
  /** When the last request was sent. */
  private sentAt = 0 as MonotonicMs;
  /** Whether the store has reported, before its reply, that other processes come first. */
  othersAreFirst = false;
  /** Whether the grant was broken by force before the reply arrived. */
  wasBroken = false;
  /** Whether the pending request is being cancelled, though the caller may not have its outcome yet. */
  private isTakenBack = false;
  private tries = 0;
  /** Of the last finished attempt. */
  private refusal: Refusal | undefined;
  /** The pause between two attempts; resolved to end it. */
  private pausing: Deferred<void> | undefined;
  /** Whether there is no time for another attempt. */
  private isLastTry = false;
  private isOver = false;
  /** Resolves when the caller has its outcome and no request is pending. */
  over = Promise.resolve();

  /**
   * @param retry undefined for a single attempt
   * @param isOneOfSeveral whether it is the attempt for one of several keys: its errors are not reported, and it fails
   *   with `Missed` if its caller may wait for the key instead
   */
  constructor(
    private readonly engine: AcquireContext,
    readonly caller: PendingAcquire,
    private readonly retry: ResolvedRetry | undefined,
    private readonly isOneOfSeveral = false,
  ) {}

  start(): void {
    this.over = this.engine.backgroundRetry.track(this.run());
  }

  /** The application shuts down. */
  close(): void {
    this.end(this.engine.reporter.closed(this.caller.key));
  }

  /** Never rejects. */
  private async run(): Promise<void> {
    const { engine, caller, retry } = this;
    caller.onEnd = this.giveUp;
    // The single request of `waitTime: 0` has no time limit.
    if (retry === undefined && caller.waitTime === 0) caller.listen();
    else caller.begin();
    engine.unqueued.add(this);
    while (!caller.isSettled && !this.isOver) {
      const triedAt = engine.clock.monotonic();
      const refusal = await this.attempt();
      if (refusal !== undefined) await this.refused(refusal, engine.clock.monotonic() - triedAt);
    }
    for (const callers of [engine.unqueued, engine.retrying]) callers.delete(this);
  }

  /**
   * One request, and a second one under a new owner id if the store cancelled the first or its grant was broken by force
   * before the reply arrived. Returns undefined if the caller has its outcome, or the request was cancelled.
   */
  private async attempt(): Promise<Refusal | undefined> {
    const { engine, caller } = this;
    const { key, limit } = caller;
    try {
      for (let tries = 1; ; tries += 1) {
        const runner = engine.keys.of(key);
        // This process holds the lock, or the store has its callers wait.
        if (runner?.keepsOut(limit) === true) {
          return { because: 'held', holderLeaseLeft: runner.holderLeaseLeft };
        }
        const whenLeft = leavingOwn(engine, key);
        const owner = engine.nextOwner();
        const reply = await this.send(owner);
        // Not in `send`: a message about the owner must not find a gap between its request and its hold.
        engine.unanswered.delete(owner);
        this.pending = undefined;
        if (this.isTakenBack) return undefined;
        if (reply instanceof LockStoreError) {
          const withdrawn = reply.inDoubt ? engine.withdraw(key, owner, true) : undefined;
          // The connection turned out to be dead, as one that a firewall has forgotten while it was idle.
          const mayRepeat = reply.unreachable && tries === 1 && caller.retry === undefined;
          const isRepeated = mayRepeat && (await isBack(engine, withdrawn));
          if (caller.isSettled || this.isOver) return undefined;
          if (isRepeated) continue;
          return { because: 'unavailable', failure: reply };
        }
        if (reply.outcome === 'conflict') {
          caller.fail(engine.reporter.disagreement(caller, reply.limit));
          return undefined;
        }
        if (reply.outcome === 'granted') {
          if (!this.wasBroken) return await this.granted(owner, reply);
          await engine.withdraw(key, owner, false);
        } else if (reply.outcome !== 'cancelled' && whenLeft !== undefined && tries === 1) {
          await whenLeft();
        } else if (reply.outcome !== 'cancelled') {
          const left = reply.outcome === 'busy' ? reply.holderLeaseLeft : undefined;
          return { because: 'held', holderLeaseLeft: engine.leaseLeft(left) };
        }
        if (caller.isSettled) return undefined;
        if (tries > 1) {
          // The reply does not say that others hold the lock, so the error must not say so.
          const details = { inDoubt: false, retryable: true };
          return { because: 'unavailable', failure: new LockStoreError('it cancelled the request', details) };
        }
      }
    } catch (error) {
      return { because: 'unavailable', failure: unusableReply(error) };
    }
  }

  /** Resolves with the reply or the failure. */
  private async send(owner: OwnerId): Promise<AcquireReply | LockStoreError> {
    const { key, lease, leaseTime, limit, permits, label } = this.caller;
    const { session, storeReporter, keys, unanswered, leases } = this.engine;
    this.sentAt = leases.sendingAt();
    this.pending = owner;
    this.othersAreFirst = this.wasBroken = false;
    unanswered.set(owner, this);
    keys.of(key)?.handle((machine, now) => {
      machine.returnIdle(now);
    });
    try {
      const reply = await session.acquire({
        key,
        owner,
        lease,
        isRenewed: leaseTime === undefined,
        claimLease: lease,
        wait: false,
        callers: 1,
        tokens: 1,
        contended: false,
        limit,
        permits,
        label,
      });
      storeReporter.answered();
      return reply;
    } catch (error) {
      return storeFailure(error);
    }
  }

  /** The caller acquires the lock, unless it is too late. */
  private async granted(owner: OwnerId, reply: Grant): Promise<Refusal | undefined> {
    const { engine, caller, sentAt: startedAt } = this;
    const { leases, reporter } = engine;
    if (!leases.mayBeOver(startedAt, caller.lease) && !engine.isClosing && !caller.isSettled) {
      const { token, since, local = false } = reply;
      const deadline = leases.deadlineOf(startedAt, caller.lease);
      const grant = { token, since, startedAt, deadline, unclaimed: false, local };
      const lease = leases.open({ owner, inDoubt: false }, caller, grant);
      startHold(engine, lease, caller, lease.firstToken, startedAt);
      if (engine.hub.observed) reporter.granted(caller, lease.firstToken);
      if (caller.limit === 1) engine.keys.adopt(lease);
      return undefined;
    }
    const took = engine.clock.monotonic() - startedAt;
    // Set before the withdrawal, since the wait may end during it.
    caller.lateAfter = took;
    await engine.withdraw(caller.key, owner, false);
    if (engine.isClosing) caller.fail(reporter.closed(caller.key));
    return caller.isSettled ? undefined : { because: 'late', took };
  }

  /** @param took how long the attempt took, ms */
  private async refused(refusal: Refusal, took: number): Promise<void> {
    if (this.caller.isSettled) return;
    this.tries += 1;
    const { caller, engine, retry, refusal: before } = this;
    this.refusal = refusal;
    if (refusal.because !== 'late') caller.lateAfter = undefined;
    if (retry === undefined) {
      this.onlyAttemptRefused(refusal);
      return;
    }
    const mayNotWait = !engine.retrying.has(this) && caller.maxWaiting !== Infinity && isFull(engine, caller);
    if (mayNotWait && refusal.because === 'held') {
      this.end(engine.reporter.queueFull(caller, countWaiting(engine, caller.key)));
      return;
    }
    if (!mayNotWait) engine.retrying.add(this);
    // Every further grant would also be too late for its own `leaseTime`.
    const isLateAgain =
      refusal.because === 'late' && before?.because === 'late' && isLeaseTooShort(caller, refusal.took);
    const isLast = this.tries >= retry.maxAttempts || caller.prolonged;
    if (mayNotWait || isLateAgain || isRejected(refusal) || isLast) {
      this.fail();
      return;
    }
    caller.onWaiting?.();
    if (refusal.because === 'unavailable') engine.storeReporter.waitFailed(refusal.failure);
    await this.pause(retry.backoff.pauseAfter(this.tries), took);
  }

  private onlyAttemptRefused(refusal: Refusal): void {
    const { caller, isOneOfSeveral, tries } = this;
    // Granted too late, usually because this process was stopped, which does not predict the next request.
    if (refusal.because === 'late' && tries === 1) return;
    const mayWait = isOneOfSeveral && caller.waitTime !== 0 && !isRejected(refusal);
    if (!mayWait) this.fail();
    else if (refusal.because === 'unavailable') this.end(new Missed(false, refusal.failure));
    else this.end(new Missed(refusal.because === 'held'));
  }

  private async pause(ms: number, took: number): Promise<void> {
    const { caller, engine } = this;
    const left = caller.startedAt + caller.waitTime - engine.clock.monotonic();
    // The last attempt begins in time for its reply if replies take longer than an outcome may be late.
    const isCut = !this.isLastTry && took > ANSWER_GRACE / 2 && left - took < ms;
    if (isCut) this.isLastTry = true;
    this.pausing = new Deferred<void>();
    await engine.timers.within(isCut ? left - took : ms, this.pausing.promise);
    this.pausing = undefined;
  }

  private readonly giveUp = (why: EndOfWait): void => {
    const { caller, engine, pending } = this;
    const isPart = caller.partOf !== undefined;
    if (why === 'aborted') this.end(caller.abortReason);
    else if (isPart && pending !== undefined) void this.takeBack(pending);
    // The other keys are being released, so another attempt would be useless.
    else if (isPart || caller.prolonged || (this.isLastTry && this.pausing !== undefined)) this.fail();
    else {
      // For the reply to the attempt that is pending, or that begins now.
      caller.prolong(engine.clock.monotonic());
      this.pausing?.resolve();
    }
  };

  /** Cancels the pending request before the caller gets the outcome. */
  private async takeBack(owner: OwnerId): Promise<void> {
    const { caller, engine } = this;
    this.isOver = this.isTakenBack = true;
    const error = this.failure();
    caller.stop();
    await engine.timers.within(ANSWER_GRACE, engine.withdraw(caller.key, owner, true));
    this.end(error);
  }

  private fail(): void {
    const error = this.failure();
    const named = this.isOneOfSeveral ? undefined : withHolder(this.engine, this.caller, error);
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

  /** B11: the last reply decides. */
  private failure(): Error {
    const { caller, engine, refusal, tries } = this;
    const { reporter } = engine;
    const now = engine.clock.monotonic();
    const isHeldByOthers = this.othersAreFirst && this.pending !== undefined;
    if (!isHeldByOthers && caller.lateAfter !== undefined)
      return reporter.lateGrant(caller, caller.lateAfter);
    if (refusal?.because === 'held') return this.heldError(refusal.holderLeaseLeft);
    if (isHeldByOthers) return reporter.triesTimedOut(caller, undefined, tries + 1);
    const isSilent = now - this.sentAt > SILENCE;
    if (caller.partOf !== undefined && refusal === undefined && !isSilent) return reporter.outOfTime(caller);
    const failure = refusal?.because === 'unavailable' ? refusal.failure : caller.lastFailure;
    return reporter.unavailable(caller, failure, caller.waitTime === 0 ? undefined : now - caller.startedAt);
  }

  /** Each waits for those before it, so that waiting for all costs one promise. */
  private leave(): void {
    const { leaving } = this.engine;
    const { key } = this.caller;
    const left = Promise.all([leaving.get(key), this.over]);
    leaving.set(key, left);
    void left.then(() => {
      if (leaving.get(key) === left) leaving.delete(key);
    });
  }

  private heldError(holderLeaseLeft: LeaseLeft | undefined): Error {
    const { caller, engine, retry, tries } = this;
    const { reporter } = engine;
    const { key, waitTime } = caller;
    const holder = engine.keys.of(key)?.ownHolder;
    if (retry !== undefined) return reporter.triesTimedOut(caller, holderLeaseLeft, tries, holder);
    if (waitTime === 0) return reporter.timedOut(caller, holderLeaseLeft, holder);
    return engine.isOverdue && waitTime === Infinity
      ? reporter.closed(key)
      : reporter.queueFull(caller, countWaiting(engine, key));
  }

  private end(error: unknown): void {
    const { caller, engine, isOneOfSeveral } = this;
    engine.retrying.delete(this);
    if (engine.unqueued.has(this)) this.leave();
    if (isOneOfSeveral) caller.fail(error);
    else engine.reporter.refuse(caller, error);
    this.pausing?.resolve();
  }
}

/** How many callers of this process wait for a key, in its queue or between two attempts. */
function countWaiting({ keys, retrying }: AcquireContext, key: string): number {
  let count = keys.of(key)?.machine.waiting.size ?? 0;
  for (const { caller } of retrying) if (caller.key === key) count += 1;
  return count;
}

/** Whether the maximum number of callers wait for the key. */
export function isFull(engine: AcquireContext, { key, maxWaiting }: PendingAcquire): boolean {
  return countWaiting(engine, key) >= maxWaiting;
}
