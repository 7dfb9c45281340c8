import { later } from '../common/clock.js';
import { CallbackTimer } from '../common/timer-queue.js';
import { backoff } from '../model/lock-retry.options.js';
import type { ResolvedRetry } from '../model/lock-retry.options.js';
import {
  type AcquireRequest,
  type Grant,
  LockStoreError,
  type MonotonicMs,
  type OwnerId,
} from '../stores/port/lock-store.js';
import { storeFailure, unusableReply } from '../stores/port/store-failure.js';
import { withHolder } from './holder-names.js';
import { startHold } from './key-runner.js';
import type { LockEngine } from './lock-engine.js';
import type { LeaseLeft } from './lock-reporter.js';
import type { Deadline, EndOfWait, PendingAcquire } from './pending-acquire.js';
import { ANSWER_GRACE, isLeaseTooShort, RECONNECT, SILENCE } from './time-limits.js';

/** Why an attempt failed. */
type Refusal =
  | { readonly because: 'held'; readonly holderLeaseLeft: LeaseLeft | undefined }
  | { readonly because: 'unavailable'; readonly failure: LockStoreError }
  /** Granted too late, after this many ms. */
  | { readonly because: 'late'; readonly took: number };

/** `waitTime: 0`, or a wait that shutdown no longer allows: one request, and no position in a queue. Never rejects. */
export async function tryOnce(engine: LockEngine, caller: PendingAcquire): Promise<void> {
  caller.onEnd = () => {
    caller.fail(caller.abortReason);
  };
  caller.listen();
  let refusal = await tryForLock(engine, caller);
  // Granted too late, usually because this process was stopped, which does not predict the next request.
  if (refusal?.because === 'late') refusal = await tryForLock(engine, caller);
  if (refusal === undefined || caller.isSettled) return;
  engine.reporter.refuse(caller, errorOf(engine, caller, refusal));
}

function errorOf({ reporter, keys }: LockEngine, caller: PendingAcquire, refusal: Refusal): Error {
  if (refusal.because !== 'held') return unavailableOf(reporter, caller, refusal);
  return caller.waitTime === 0
    ? reporter.timedOut(caller, refusal.holderLeaseLeft, keys.of(caller.key)?.ownHolder)
    : reporter.closed(caller.key);
}

/** The error of a caller whose request failed or was granted too late. */
function unavailableOf(
  reporter: LockEngine['reporter'],
  caller: PendingAcquire,
  refusal: Exclude<Refusal, { readonly because: 'held' }>,
  waitedFor?: number,
): Error {
  return refusal.because === 'late'
    ? reporter.lateGrant(caller, refusal.took)
    : reporter.unavailable(caller, refusal.failure, waitedFor);
}

/**
 * One request for a caller that does not wait in line, and a second one under a new owner id if the store cancelled the
 * first or its grant was broken by force before the reply arrived.
 *
 * @param owner receives the request, so that it can cancel it while it is pending
 * @returns undefined if the caller has its outcome, or the request was cancelled
 */
function tryForLock(
  engine: LockEngine,
  caller: PendingAcquire,
  owner?: { request: TryRequest | undefined },
): Promise<Refusal | undefined> {
  const over = requestFor(engine, caller, owner);
  const pending = { caller, over };
  engine.tries.add(pending);
  void over.then(() => engine.tries.delete(pending));
  return over;
}

async function requestFor(
  engine: LockEngine,
  caller: PendingAcquire,
  owner: { request: TryRequest | undefined } | undefined,
): Promise<Refusal | undefined> {
  const { key, limit } = caller;
  try {
    for (let tries = 1; ; tries += 1) {
      const line = engine.keys.of(key);
      // This process holds the lock, or the store has its callers wait.
      if (line?.keepsOut(limit) === true) {
        return { because: 'held', holderLeaseLeft: line.holderLeaseLeft };
      }
      const whenLeft = leavingOwn(engine, key);
      const request = new TryRequest(engine, [caller]);
      if (owner !== undefined) owner.request = request;
      const reply = await request.send(([only]) => engine.session.acquire(only));
      if (!request.end()) return undefined;
      if (reply instanceof LockStoreError) {
        const withdrawn = reply.inDoubt ? request.withdraw(true) : undefined;
        const isRepeated = isDeadConnection(reply) && tries === 1 && caller.retry === undefined;
        if (isRepeated && (await isBack(engine, withdrawn))) continue;
        if (caller.isSettled) return undefined;
        return { because: 'unavailable', failure: reply };
      }
      if (reply.outcome === 'conflict') {
        caller.fail(engine.reporter.disagreement(caller, reply.limit));
        return undefined;
      }
      if (reply.outcome === 'granted') {
        if (!request.wasBroken) return await begin(engine, caller, request, reply);
        await request.withdraw(false);
      } else if (reply.outcome !== 'cancelled' && whenLeft !== undefined && tries === 1) {
        await whenLeft();
      } else if (reply.outcome !== 'cancelled') {
        const left = reply.outcome === 'busy' ? reply.holderLeaseLeft : undefined;
        return { because: 'held', holderLeaseLeft: engine.leaseLeft(left) };
      }
      if (caller.isSettled) return undefined;
      if (tries > 1) {
        // Not reported as held: the reply does not show who holds the lock (B11).
        const details = { inDoubt: false, retryable: true };
        return { because: 'unavailable', failure: new LockStoreError('it cancelled the request', details) };
      }
    }
  } catch (error) {
    return { because: 'unavailable', failure: unusableReply(error) };
  }
}

/**
 * The store may have granted the lock to a request of this process that no caller needs any more. Resolves when all of
 * these have been withdrawn, or when the store has not replied for too long; undefined if there are none.
 */
export function leavingOwn(
  { keys, tries, timers }: LockEngine,
  key: string,
): (() => Promise<void>) | undefined {
  const line = keys.of(key);
  const left = [...tries].filter(({ caller }) => caller.key === key && caller.isSettled);
  if (line?.isLeaving !== true && left.length === 0) return undefined;
  return () => timers.within(SILENCE, Promise.all([line?.idle(), ...left.map(({ over }) => over)]));
}

/** Whether the withdrawal is confirmed soon, which takes a new connection. */
export async function isBack(engine: LockEngine, withdrawn: Promise<boolean> | undefined): Promise<boolean> {
  let isConfirmed = false;
  await engine.timers.within(
    RECONNECT,
    Promise.resolve(withdrawn).then((done) => (isConfirmed = done === true)),
  );
  return isConfirmed;
}

/**
 * Whether the connection of a request turned out to be dead, as one that a firewall has forgotten while it was idle: a
 * single attempt is repeated over a new one.
 */
export function isDeadConnection({ inDoubt, unreachable }: LockStoreError): boolean {
  return inDoubt && unreachable;
}

/** The store has granted the lock: the caller acquires it, unless it is too late. */
async function begin(
  engine: LockEngine,
  caller: PendingAcquire,
  request: TryRequest,
  grant: Grant,
): Promise<Refusal | undefined> {
  if (!request.mayBeOver && !engine.isClosing && !caller.isSettled) {
    request.granted([grant]);
    return undefined;
  }
  const took = engine.clock.monotonic() - request.sentAt;
  // Set before the withdrawal, since the wait may end during it.
  caller.lateAfter = took;
  await request.withdraw(false);
  if (engine.isClosing) caller.fail(engine.reporter.closed(caller.key));
  return caller.isSettled ? undefined : { because: 'late', took };
}

/** For a caller that may not wait (`maxWaiting`): acquires only a free lock. */
export const ONCE: ResolvedRetry = { maxAttempts: 1, backoff: backoff.fixed(1) };

/** A caller with `retry`: single attempts with pauses between them, and no position in a queue. */
export class RetryingAcquire {
  private tries = 0;
  isWaiting = false;
  private triedAt = 0;
  /** Of the last finished attempt. */
  private refusal: Refusal | undefined;
  private endPause: (() => void) | undefined;
  /** Duration of the last finished attempt, ms. */
  private took = 0;
  /** Whether there is no time for another attempt. */
  private isLastTry = false;
  /** The last request, pending or not. */
  request: TryRequest | undefined;
  private isOver = false;

  constructor(
    private readonly engine: LockEngine,
    readonly caller: PendingAcquire,
    private readonly retry: ResolvedRetry,
  ) {}

  /** Resolves when the caller has its outcome and no request is pending. */
  async run(): Promise<void> {
    const { engine, caller } = this;
    caller.onEnd = this.giveUp;
    caller.begin();
    engine.retrying.add(this);
    while (!caller.isSettled && !this.isOver) {
      this.triedAt = engine.clock.monotonic();
      const refusal = await tryForLock(engine, caller, this);
      this.took = engine.clock.monotonic() - this.triedAt;
      if (refusal !== undefined) await this.refused(refusal);
    }
    engine.retrying.delete(this);
    this.isWaiting = false;
  }

  /** The application shuts down (B60). */
  close(): void {
    this.end(this.engine.reporter.closed(this.caller.key));
  }

  private async refused(refusal: Refusal): Promise<void> {
    if (this.caller.isSettled) return;
    this.tries += 1;
    const { caller, engine, retry, refusal: before } = this;
    this.refusal = refusal;
    if (refusal.because !== 'late') caller.lateAfter = undefined;
    const isBounded = !this.isWaiting && caller.maxWaiting !== Infinity;
    const mayNotWait = isBounded && (retry === ONCE || isFull(engine, caller));
    if (mayNotWait && refusal.because === 'held') {
      this.end(engine.reporter.queueFull(caller, countWaiting(engine, caller.key)));
      return;
    }
    this.isWaiting = !mayNotWait;
    // Every further grant would also be too late for its own `leaseTime`.
    const isLateAgain =
      refusal.because === 'late' && before?.because === 'late' && isLeaseTooShort(caller, refusal.took);
    const isRejected = refusal.because === 'unavailable' && !refusal.failure.retryable;
    const isLast = this.tries >= retry.maxAttempts || caller.prolonged;
    if (mayNotWait || isLateAgain || isRejected || isLast) {
      this.fail();
      return;
    }
    caller.onWaiting?.();
    if (refusal.because === 'unavailable') engine.storeReporter.waitFailed(refusal.failure);
    await this.pause(retry.backoff.pauseAfter(this.tries));
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

  /** When the last attempt has to begin if replies take longer than an outcome may be late (B10). */
  private lastChance(): MonotonicMs {
    const { startedAt, waitTime } = this.caller;
    return later(startedAt, this.took > ANSWER_GRACE / 2 ? waitTime - this.took : Infinity);
  }

  private readonly giveUp = (why: EndOfWait): void => {
    const { caller, engine, request } = this;
    const isPart = caller.partOf !== undefined;
    if (why === 'aborted') this.end(caller.abortReason);
    else if (isPart && request?.isUnderWay === true) this.takeBack(request);
    // The other keys are being released, so another attempt would be useless.
    else if (isPart || caller.prolonged || (this.isLastTry && this.endPause !== undefined)) this.fail();
    else {
      // For the reply to the attempt that is pending, or that begins now (B10).
      caller.prolong(engine.clock.monotonic());
      this.endPause?.();
    }
  };

  /** Cancels the pending request before the caller gets the outcome (B10). */
  private takeBack(request: TryRequest): void {
    this.isOver = true;
    const error = this.failure();
    void request.takeBack(this.caller, ANSWER_GRACE).then(() => {
      this.end(error);
    });
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

  /** B11: the last reply decides. */
  private failure(): Error {
    const { caller, engine, refusal, tries } = this;
    const { reporter } = engine;
    const now = engine.clock.monotonic();
    const isHeldByOthers = this.request?.isHeldByOthers === true;
    if (!isHeldByOthers && caller.lateAfter !== undefined)
      return reporter.lateGrant(caller, caller.lateAfter);
    if (refusal?.because === 'held')
      return reporter.triesTimedOut(
        caller,
        refusal.holderLeaseLeft,
        tries,
        engine.keys.of(caller.key)?.ownHolder,
      );
    if (isHeldByOthers) return reporter.triesTimedOut(caller, undefined, tries + 1);
    const isSilent = now - this.triedAt > SILENCE;
    if (caller.partOf !== undefined && refusal === undefined && !isSilent) return reporter.outOfTime(caller);
    const waitedFor = now - caller.startedAt;
    if (refusal === undefined) return reporter.unavailable(caller, undefined, waitedFor);
    return unavailableOf(reporter, caller, refusal, waitedFor);
  }

  private end(error: unknown): void {
    this.isWaiting = false;
    this.engine.reporter.refuse(this.caller, error);
    this.endPause?.();
  }
}

/** How many callers of this process wait for a key, in its queue or between two attempts. */
function countWaiting({ keys, retrying }: LockEngine, key: string): number {
  let count = keys.of(key)?.machine.waiting.size ?? 0;
  for (const { isWaiting, caller } of retrying) if (isWaiting && caller.key === key) count += 1;
  return count;
}

/** Whether the maximum number of callers wait for the key. */
export function isFull(engine: LockEngine, { key, maxWaiting }: PendingAcquire): boolean {
  return countWaiting(engine, key) >= maxWaiting;
}

/** A single attempt for one key. */
export interface TriedLock {
  readonly caller: PendingAcquire;
  readonly owner: OwnerId;
  /** Whether its grant was broken by force before the reply arrived. */
  wasBroken: boolean;
  /** Whether the store has reported, before its reply, that other processes come first. */
  isHeldByOthers: boolean;
}

/** One for each lock; at least one. */
type Requests = readonly [AcquireRequest, ...AcquireRequest[]];

/** One request for a caller that does not wait in line: for one lock, or for several together. */
export class TryRequest {
  readonly sentAt: MonotonicMs;
  isUnderWay = false;
  /** Whether its result is being cancelled, though the caller may not have its outcome yet. */
  private isTakenBack = false;
  private readonly locks: readonly TriedLock[];

  constructor(
    private readonly engine: LockEngine,
    callers: readonly PendingAcquire[],
  ) {
    this.sentAt = engine.leases.sendingAt();
    this.locks = callers.map((caller) => {
      return { caller, owner: engine.nextOwner(), wasBroken: false, isHeldByOthers: false };
    });
  }

  /** Whether a grant was broken by force before the reply arrived. */
  get wasBroken(): boolean {
    return this.locks.some(({ wasBroken }) => wasBroken);
  }

  /** Whether the store has reported that other processes come first, and has not replied yet. */
  get isHeldByOthers(): boolean {
    return this.isUnderWay && this.locks.some(({ isHeldByOthers }) => isHeldByOthers);
  }

  /** Whether its leases may have ended. */
  get mayBeOver(): boolean {
    const { leases } = this.engine;
    return this.locks.some(({ caller }) => leases.mayBeOver(this.sentAt, caller.lease));
  }

  /** Sends the request; resolves with its reply or failure. Call `end` immediately afterwards. */
  async send<R>(acquire: (requests: Requests) => PromiseLike<R>): Promise<R | LockStoreError> {
    const { storeReporter, keys, unanswered } = this.engine;
    this.isUnderWay = true;
    for (const lock of this.locks) {
      unanswered.set(lock.owner, lock);
      keys.of(lock.caller.key)?.returnIdle();
    }
    try {
      const [first, ...others] = this.locks.map(acquireRequestOf);
      if (first === undefined) throw new TypeError('the request contains no lock');
      const reply = await acquire([first, ...others]);
      storeReporter.answered();
      return reply;
    } catch (error) {
      return storeFailure(error);
    }
  }

  /** The reply has arrived. Returns whether it counts: not if the request was cancelled meanwhile. */
  end(): boolean {
    this.isUnderWay = false;
    for (const { owner } of this.locks) this.engine.unanswered.delete(owner);
    return !this.isTakenBack;
  }

  /** The store has granted all locks. */
  granted(grants: readonly Grant[]): void {
    const { engine, sentAt: startedAt } = this;
    const granted = this.locks.map(({ caller, owner }, index) => {
      const grant = grants[index];
      if (grant === undefined) throw new TypeError('it granted only some of the locks');
      return { ...grant, caller, owner };
    });
    for (const { caller, owner, token, since, local = false } of granted) {
      const deadline = engine.leases.deadlineOf(startedAt, caller.lease);
      const grant = { token, since, startedAt, deadline, unclaimed: false, local };
      const lease = engine.leases.open({ owner, inDoubt: false }, caller, grant);
      startHold(engine, lease, caller, lease.firstToken, startedAt);
      if (engine.hub.observed) engine.reporter.granted(caller, lease.firstToken);
      if (caller.limit === 1) engine.keys.adopt(lease);
    }
  }

  /** Returns whether that is done; otherwise it continues in the background. */
  async withdraw(inDoubt: boolean): Promise<boolean> {
    const { engine } = this;
    const each = this.locks.map(({ caller, owner }) => engine.withdraw(caller.key, owner, inDoubt));
    return (await Promise.all(each)).every(Boolean);
  }

  /** Cancels the pending request before the caller gets the outcome (B10). */
  async takeBack(wait: Pick<Deadline<unknown>, 'stop'>, patience: number): Promise<void> {
    this.isTakenBack = true;
    wait.stop();
    await this.engine.timers.within(patience, this.withdraw(true));
  }
}

/** Without a position in the store's queue. */
function acquireRequestOf({ caller, owner }: TriedLock): AcquireRequest {
  const { key, lease, leaseTime, limit, permits, label } = caller;
  return {
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
  };
}
