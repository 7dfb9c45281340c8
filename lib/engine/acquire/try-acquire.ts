import { LockStoreError, type Grant } from '../../stores/port/lock-store.js';
import { unusableReply } from '../../stores/port/store-failure.js';
import type { EngineContext } from '../context.js';
import type { LeaseLeft } from '../events/lock-reporter.js';
import type { Waiter } from '../queue/waiter.js';
import { ownHolder } from '../queue/holders.js';
import type { AcquireContext } from './acquire-context.js';
import { TryRequest } from './try-request.js';

/** Why a try did not bring the lock: others hold it, or the store could not be asked. */
export type Refusal =
  | { readonly held: true; readonly holderLeaseLeft: LeaseLeft | undefined }
  | {
      readonly held: false;
      readonly failure: LockStoreError | undefined;
      /** ms after which an answer came that was too late to be of use. */
      readonly after?: number;
    };

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
  engine.reporter.refuse(caller, errorOf(context, caller, refusal));
}

function errorOf({ engine, queues }: AcquireContext, caller: Waiter, refusal: Refusal): Error {
  const { reporter } = engine;
  if (!refusal.held) return unavailableOf(reporter, caller, refusal, refusal.after);
  return caller.waitTime === 0
    ? reporter.timedOut(
        caller,
        refusal.holderLeaseLeft,
        ownHolder(engine, queues.queueOf(caller.key)?.leases),
      )
    : reporter.closed(caller.key);
}

/** What a caller is refused with that could not be asked for. */
export function unavailableOf(
  reporter: EngineContext['reporter'],
  caller: Waiter,
  { failure, after }: Extract<Refusal, { readonly held: false }>,
  waitedFor: number | undefined,
): Error {
  return after === undefined
    ? reporter.unavailable(caller, failure, waitedFor)
    : reporter.lateGrant(caller, after);
}

/**
 * One request for a caller that stands in no queue, and another under a new name if the store took the first one back, or
 * its grant was broken by force before the answer was here.
 * Gives undefined when the caller has its outcome, or the request was taken back.
 *
 * @param owner is told of the request, so that it can take it back while it is under way
 */
export async function tryForLock(
  context: AcquireContext,
  caller: Waiter,
  owner?: { request: TryRequest | undefined },
): Promise<Refusal | undefined> {
  const { engine, queues } = context;
  const { key, limit } = caller;
  try {
    for (let tries = 1; ; tries += 1) {
      const queue = queues.queueOf(key);
      // This process holds all of it, or callers of it are before us, and the store keeps them waiting.
      if (queue?.keepsOut(limit) === true) return { held: true, holderLeaseLeft: queue.holderLeaseLeft };
      const request = new TryRequest(context, [caller]);
      if (owner !== undefined) owner.request = request;
      const reply = await request.send(([only]) => engine.session.ask(only));
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

/** The store has granted the lock: the caller gets it, unless that is of no use any more. */
async function begin(
  { engine }: AcquireContext,
  caller: Waiter,
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

/** It says nothing of who holds the lock (B11). */
function takenBack(): LockStoreError {
  return new LockStoreError('it took the request back', { inDoubt: false, retryable: true });
}
