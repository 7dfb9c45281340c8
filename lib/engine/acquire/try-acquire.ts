import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type Grant,
  type MonotonicMs,
  type OwnerId,
} from '../../stores/port/lock-store.js';
import type { Waiter } from '../queue/waiter.js';
import { deadlineOf } from '../../common/clock.js';
import type { EngineContext } from '../context.js';
import { handOver } from '../queue/hand-over.js';
import type { AcquireContext } from './acquire-context.js';
import { storeFailure, unusableReply } from '../../stores/port/store-failure.js';

/** Why a try did not bring the lock: others hold it, or the store could not be asked. */
export type Refusal =
  | { readonly held: true; readonly holderLeaseLeft: number | undefined }
  | {
      readonly held: false;
      readonly failure: LockStoreError | undefined;
      /** ms after which an answer came that was too late to be of use. */
      readonly after?: number;
    };

/** What is known of a request by whoever may take it back while it is under way. */
export interface RequestUnderWay {
  /** Whose it is; undefined when it was taken back, or none is under way. */
  owner: OwnerId | undefined;
}

/**
 * `waitTime: 0`, or a wait that shutdown does not allow any more: one request, no place in any queue. Whatever the store
 * does, the caller hears of it.
 */
export async function tryOnce(context: AcquireContext, caller: Waiter): Promise<void> {
  caller.onGivenUp = () => {
    caller.fail(caller.abortReason);
  };
  caller.listen();
  let refusal = await tryForLock(context, caller);
  // Granted, but over by then: as a rule since this process stood still, which says nothing of the next request.
  if (refusal?.held === false && refusal.after !== undefined) refusal = await tryForLock(context, caller);
  if (refusal === undefined || caller.isSettled) return;
  const { engine } = context;
  engine.reporter.refuse(caller, errorOf(engine, caller, refusal));
}

function errorOf({ reporter }: EngineContext, caller: Waiter, refusal: Refusal): Error {
  if (!refusal.held) return reporter.unavailable(caller.key, refusal.failure, refusal.after);
  return caller.waitTime === 0
    ? reporter.timedOut(caller, refusal.holderLeaseLeft)
    : reporter.closed(caller.key);
}

/**
 * One request for a caller that stands in no queue, and another under a new name if the store took the first one back, or
 * its grant was broken by force before the answer was here.
 * Gives undefined when the caller has its outcome, or the request was taken back.
 */
export async function tryForLock(
  context: AcquireContext,
  caller: Waiter,
  underWay?: RequestUnderWay,
): Promise<Refusal | undefined> {
  try {
    const outcome = await ask(context, caller, underWay);
    if (outcome !== 'cancelled') return outcome;
    if (caller.isSettled) return undefined;
    const second = await ask(context, caller, underWay);
    return second === 'cancelled' ? { held: false, failure: takenBack() } : second;
  } catch (error) {
    return { held: false, failure: unusableReply(error) };
  }
}

async function ask(
  context: AcquireContext,
  caller: Waiter,
  underWay?: RequestUnderWay,
): Promise<Refusal | 'cancelled' | undefined> {
  const { engine, queues, tries } = context;
  const { key, lease } = caller;
  const queue = queues.queueOf(key);
  // This process holds all of it, or callers of it are before us, and the store keeps them waiting.
  if (queue?.keepsOut(caller.limit) === true) return { held: true, holderLeaseLeft: queue.holderLeaseLeft };
  const owner = engine.nextOwner();
  const sentAt = engine.leases.sendingAt();
  if (underWay !== undefined) underWay.owner = owner;
  let reply: AskReply;
  let wasBroken: boolean;
  tries.begin(owner, key);
  try {
    reply = await engine.ask(requestOf(caller, owner));
  } catch (error) {
    if (isTakenBack(owner, underWay)) return undefined;
    const failure = storeFailure(error);
    if (failure.inDoubt) void engine.withdraw(key, owner, true);
    return { held: false, failure };
  } finally {
    wasBroken = tries.end(owner);
  }
  engine.reporter.storeAnswered();
  if (isTakenBack(owner, underWay)) return undefined;
  if (reply.outcome === 'conflict') {
    caller.fail(engine.reporter.disagreement(caller, reply.limit));
    return undefined;
  }
  if (reply.outcome === 'cancelled') return reply.outcome;
  if (reply.outcome !== 'granted') {
    return { held: true, holderLeaseLeft: reply.outcome === 'busy' ? reply.holderLeaseLeft : undefined };
  }
  if (wasBroken) {
    await engine.withdraw(key, owner, false);
    return 'cancelled';
  }
  const now = engine.clock.monotonic();
  if (engine.leases.mayBeOver(sentAt, lease) || engine.isClosing || caller.isSettled) {
    await engine.withdraw(key, owner, false);
    if (engine.isClosing) caller.fail(engine.reporter.closed(key));
    return caller.isSettled ? undefined : { held: false, failure: undefined, after: now - sentAt };
  }
  begin(context, caller, owner, sentAt, reply);
  return undefined;
}

/** One caller's request for a lock that is free: it takes no place in the store's queue. */
export function requestOf({ key, lease, limit, label }: Waiter, owner: OwnerId): AskRequest {
  return {
    key,
    owner,
    lease,
    claimLease: lease,
    wait: false,
    callers: 1,
    tokens: 1,
    contended: false,
    limit,
    label,
  };
}

/** Whether whoever made the request has taken it back. If not, that is too late now. */
function isTakenBack(owner: OwnerId, underWay: RequestUnderWay | undefined): boolean {
  if (underWay === undefined) return false;
  if (underWay.owner !== owner) return true;
  underWay.owner = undefined;
  return false;
}

/** It says nothing of who holds the lock (B11). */
function takenBack(): LockStoreError {
  return new LockStoreError('it took the request back', { inDoubt: false, retryable: true });
}

/** A caller that stands in no queue got the lock, by a request that was sent at that time. */
export function begin(
  { engine, queues }: AcquireContext,
  caller: Waiter,
  owner: OwnerId,
  sentAt: MonotonicMs,
  { token, since, degraded = false }: Grant,
): void {
  const { lease, limit } = caller;
  const deadline = deadlineOf(sentAt, lease);
  const grant = { token, since, startedAt: sentAt, deadline, unclaimed: false, degraded };
  const granted = engine.leases.open({ owner, inDoubt: false }, caller, grant);
  handOver(engine, granted, caller);
  if (limit === 1) queues.adopt(granted);
}
