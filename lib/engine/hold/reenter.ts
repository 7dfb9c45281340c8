import { LockUpgradeError } from '../../model/lock.errors.js';
import type { ResolvedLockOptions } from '../../model/resolved-lock.options.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import { heldKeys, innermostHold, scopeOfCaller } from '../scope/scope.js';
import { Wait } from '../time/wait.js';
import { extendInTime } from './extend-in-time.js';
import { Hold } from './hold.js';

/** Asks whether a lease is there, and prolongs none that is, ms. */
const PROBE_LEASE = 1;

/** The innermost hold of a key that the running code owns; with `evenIfOver` also one that ended before its scope did. */
export function ownHold(engine: EngineContext, key: string, evenIfOver = false): Hold | undefined {
  const hold = innermostHold(engine, key, evenIfOver);
  return hold instanceof Hold ? hold : undefined;
}

/** Takes a hold of the running code's own once more (B50); undefined when that hold ended meanwhile. */
export async function reenter(
  engine: EngineContext,
  outer: Hold,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold | undefined> {
  checkSharing(engine, outer, options.limit);
  const inner = outer.reentry.enter(options.limit) ?? (await waitForTurn(engine, outer, options, startedAt));
  if (inner === undefined) return inner;
  // B50: the store is asked only where it is not sure that the lease is there.
  if (options.leaseTime === undefined && engine.leases.isSure(inner.lease)) return inner;
  try {
    // B54: an inner lease may be longer than what is left, and never shortens it.
    await extendInTime(engine, [inner.lease], options.leaseTime ?? PROBE_LEASE, options, startedAt);
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
  engine: EngineContext,
  outer: Hold,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold | undefined> {
  const { limit } = options;
  const caller = { ...options, key: outer.key, startedAt, holding: heldKeys(engine, scopeOfCaller()) };
  const wait = new Wait<Hold | undefined>(engine, startedAt, options, (_, why) => {
    outer.reentry.giveUp(wait);
    engine.reporter.refuse(
      wait,
      why === 'aborted'
        ? wait.abortReason
        : engine.reporter.timedOut(
            caller,
            undefined,
            undefined,
            're-entered by another branch of the same scope',
          ),
    );
  });
  outer.reentry.queue(wait, limit);
  options.onWaiting?.();
  return await wait.promise;
}

/** Who has all of a lock has a reader's share of it; who has a share gets no more by waiting for itself (B55). */
function checkSharing(engine: EngineContext, { key, limit: held }: Hold, limit: number): void {
  if (held === limit || (held === 1 && limit === Infinity)) return;
  if (held !== Infinity || limit !== 1) throw engine.reporter.disagreement({ key, limit }, held);
  throw new LockUpgradeError(
    `The lock "${key}" is held here with mode 'shared', and can't become exclusive: the readers of it, this one included, would ` +
      'have to end first. Take it exclusively from the start, or release the shared hold before.',
    { keys: [key] },
  );
}
