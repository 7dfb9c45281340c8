import {
  type AcquireRequest,
  type Grant,
  LockStoreError,
  type MonotonicMs,
} from '../stores/port/lock-store.js';
import { storeFailure, unusableReply } from '../stores/port/store-failure.js';
import type { AcquireContext, TriedLock } from './acquire.js';
import type { EngineContext } from './context.js';
import type { Deadline } from './deadline.js';
import { startHold } from './key-runner.js';
import type { LeaseLeft } from './lock-reporter.js';
import type { PendingAcquire } from './pending-acquire.js';

/** Why a try failed: others hold the lock, or the store could not be asked. */
export type Refusal =
  | { readonly held: true; readonly holderLeaseLeft: LeaseLeft | undefined }
  | {
      readonly held: false;
      readonly failure: LockStoreError | undefined;
      /** How long the answer took, ms, if it was a grant that came too late. */
      readonly after?: number;
    };

/** `waitTime: 0`, or a wait that shutdown no longer allows: one request, and no position in a queue. Never rejects. */
export async function tryOnce(context: AcquireContext, caller: PendingAcquire): Promise<void> {
  caller.onEnd = () => {
    caller.fail(caller.abortReason);
  };
  caller.listen();
  let refusal = await tryForLock(context, caller);
  // Granted too late, usually because this process was stopped, which says nothing about the next request.
  if (refusal?.held === false && refusal.after !== undefined) refusal = await tryForLock(context, caller);
  if (refusal === undefined || caller.isSettled) return;
  const { engine } = context;
  engine.reporter.refuse(caller, errorOf(context, caller, refusal));
}

function errorOf({ engine, keys }: AcquireContext, caller: PendingAcquire, refusal: Refusal): Error {
  const { reporter } = engine;
  if (!refusal.held) return unavailableOf(reporter, caller, refusal, refusal.after);
  return caller.waitTime === 0
    ? reporter.timedOut(caller, refusal.holderLeaseLeft, keys.of(caller.key)?.ownHolder)
    : reporter.closed(caller.key);
}

/** The error of a caller whose request failed or was granted too late. */
export function unavailableOf(
  reporter: EngineContext['reporter'],
  caller: PendingAcquire,
  { failure, after }: Extract<Refusal, { readonly held: false }>,
  waitedFor: number | undefined,
): Error {
  return after === undefined
    ? reporter.unavailable(caller, failure, waitedFor)
    : reporter.lateGrant(caller, after);
}

/**
 * One request for a caller that does not wait in line, and a second one under a new owner id if the store cancelled the first
 * or its grant was broken by force before the answer arrived.
 *
 * @param owner gets the request, so that it can take it back while it is under way
 * @returns undefined if the caller has its outcome, or the request was taken back
 */
export async function tryForLock(
  context: AcquireContext,
  caller: PendingAcquire,
  owner?: { request: TryRequest | undefined },
): Promise<Refusal | undefined> {
  const { engine, keys } = context;
  const { key, limit } = caller;
  try {
    for (let tries = 1; ; tries += 1) {
      const line = keys.of(key);
      // This process holds the lock, or the store keeps its callers waiting.
      if (line?.keepsOut(limit) === true) return { held: true, holderLeaseLeft: line.holderLeaseLeft };
      const request = new TryRequest(context, [caller]);
      if (owner !== undefined) owner.request = request;
      const reply = await request.send(([only]) => engine.session.acquire(only));
      if (!request.end()) return undefined;
      if (reply instanceof LockStoreError) {
        if (reply.inDoubt) void request.withdraw(true);
        return { held: false, failure: reply };
      }
      if (reply.outcome === 'conflict') {
        caller.fail(engine.reporter.disagreement(caller, reply.limit));
        return undefined;
      }
      if (reply.outcome === 'granted') {
        if (!request.wasBroken) return await begin(context, caller, request, reply);
        await request.withdraw(false);
      } else if (reply.outcome !== 'cancelled') {
        const left = reply.outcome === 'busy' ? reply.holderLeaseLeft : undefined;
        return { held: true, holderLeaseLeft: engine.leaseLeft(left) };
      }
      if (caller.isSettled) return undefined;
      if (tries > 1) return { held: false, failure: takenBack() };
    }
  } catch (error) {
    return { held: false, failure: unusableReply(error) };
  }
}

/** The store has granted the lock: the caller gets it, unless it is too late. */
async function begin(
  { engine }: AcquireContext,
  caller: PendingAcquire,
  request: TryRequest,
  grant: Grant,
): Promise<Refusal | undefined> {
  if (!request.mayBeOver && !engine.isClosing && !caller.isSettled) {
    request.granted([grant]);
    return undefined;
  }
  const after = engine.clock.monotonic() - request.sentAt;
  await request.withdraw(false);
  if (engine.isClosing) caller.fail(engine.reporter.closed(caller.key));
  return caller.isSettled ? undefined : { held: false, failure: undefined, after };
}

/** Says nothing about who holds the lock (B11). */
function takenBack(): LockStoreError {
  return new LockStoreError('it took the request back', { inDoubt: false, retryable: true });
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
    private readonly context: AcquireContext,
    callers: readonly PendingAcquire[],
  ) {
    const { engine } = context;
    this.sentAt = engine.leases.sendingAt();
    this.locks = callers.map((caller) => {
      return { caller, owner: engine.nextOwner(), wasBroken: false, isHeldByOthers: false };
    });
  }

  /** Whether its grant was broken by force before the answer arrived. */
  get wasBroken(): boolean {
    return this.locks.some(({ wasBroken }) => wasBroken);
  }

  /** Whether the store has reported that others come first, and has not answered yet. */
  get isHeldByOthers(): boolean {
    return this.isUnderWay && this.locks.some(({ isHeldByOthers }) => isHeldByOthers);
  }

  /** Whether the leases that it brought may be over. */
  get mayBeOver(): boolean {
    const { leases } = this.context.engine;
    return this.locks.some(({ caller }) => leases.mayBeOver(this.sentAt, caller.lease));
  }

  /** Asks the store; resolves with its answer or failure. Call `end` at once then. */
  async send<R>(ask: (requests: Requests) => PromiseLike<R>): Promise<R | LockStoreError> {
    const { engine, keys, unanswered } = this.context;
    this.isUnderWay = true;
    for (const lock of this.locks) {
      unanswered.set(lock.owner, lock);
      keys.of(lock.caller.key)?.returnIdle();
    }
    try {
      const [first, ...others] = this.locks.map(requestFor);
      if (first === undefined) throw new TypeError('it is asked for nothing');
      const reply = await ask([first, ...others]);
      engine.storeReporter.answered();
      return reply;
    } catch (error) {
      return storeFailure(error);
    }
  }

  /** The answer has arrived. Returns whether it counts: not if the request was taken back meanwhile. */
  end(): boolean {
    this.isUnderWay = false;
    for (const { owner } of this.locks) this.context.unanswered.delete(owner);
    return !this.isTakenBack;
  }

  /** The store has granted all locks. */
  granted(grants: readonly Grant[]): void {
    const { engine, keys } = this.context;
    const { sentAt: startedAt } = this;
    const granted = this.locks.map(({ caller, owner }, index) => {
      const grant = grants[index];
      if (grant === undefined) throw new TypeError('it granted some of the locks only');
      return { ...grant, caller, owner };
    });
    for (const { caller, owner, token, since, degraded = false } of granted) {
      const deadline = engine.leases.deadlineOf(startedAt, caller.lease);
      const grant = { token, since, startedAt, deadline, unclaimed: false, degraded };
      const lease = engine.leases.open({ owner, inDoubt: false }, caller, grant);
      startHold(engine, lease, caller, lease.firstToken, startedAt);
      if (engine.hub.observed) engine.reporter.granted(caller, lease.firstToken);
      if (caller.limit === 1) keys.adopt(lease);
    }
  }

  async withdraw(inDoubt: boolean): Promise<void> {
    const { engine } = this.context;
    await Promise.all(this.locks.map(({ caller, owner }) => engine.withdraw(caller.key, owner, inDoubt)));
  }

  /** Cancels the request under way before the caller hears of the outcome (B10). */
  async takeBack(wait: Pick<Deadline<unknown>, 'stop'>, patience: number): Promise<void> {
    this.isTakenBack = true;
    wait.stop();
    await this.context.engine.timers.within(patience, this.withdraw(true));
  }
}

/** Without a position in the store's queue. */
function requestFor({ caller: { key, lease, leaseTime, limit, label }, owner }: TriedLock): AcquireRequest {
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
    label,
  };
}
