import type { ResolvedLockOptions } from '../lock.options.js';
import type { MonotonicMs } from '../stores/lock-store.js';
import type { Hold } from './hold.js';
import type { LockEngine } from './lock-engine.js';
import { heldKeys, scopeOfCaller } from './scope.js';
import { Wait } from './wait.js';

/** Asks whether a lease is there, and prolongs none that is, ms. */
const SHORTEST_LEASE = 1;

/** Takes a hold of the running code's own once more (B50); undefined when that hold ended meanwhile. */
export async function reenter(
  engine: LockEngine,
  outer: Hold,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold | undefined> {
  const inner = outer.reentry.enter() ?? (await waitForTurn(engine, outer, options, startedAt));
  if (inner === undefined) return inner;
  // B50: the store is asked only where it is not sure that the lease is there.
  if (options.leaseTime === undefined && engine.leases.isSure(inner.lease)) return inner;
  try {
    // B54: an inner lease may be longer than what is left, and never shortens it.
    await engine.questions.extend(inner.lease, options.leaseTime ?? SHORTEST_LEASE);
  } catch (error) {
    await inner.release();
    throw error;
  }
  if (!inner.isOver) return inner;
  // The extension brought to light that the lock is lost: it is taken anew.
  await inner.release();
  return undefined;
}

/** B52: another branch of the scope is inside. */
async function waitForTurn(
  engine: LockEngine,
  outer: Hold,
  { waitTime, signal }: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold | undefined> {
  const caller = { key: outer.key, startedAt, waitTime, holding: heldKeys(engine, scopeOfCaller()) };
  const wait = new Wait<Hold | undefined>(engine.waits, startedAt, waitTime, signal, (_, why) => {
    outer.reentry.giveUp(wait);
    wait.fail(
      why === 'aborted'
        ? wait.abortReason
        : engine.reports.timedOut(caller, undefined, 're-entered by another branch of the same scope'),
    );
  });
  outer.reentry.queue(wait);
  return await wait.promise;
}
