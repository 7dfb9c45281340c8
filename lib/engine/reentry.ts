import { LockUpgradeError } from '../model/lock.errors.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import { extendInTime } from './extend.js';
import { Hold, type HoldContext } from './hold.js';
import { heldKeys, innermostHold, scopeOfCaller } from './scope.js';

/** Too short to extend a lease, ms: only checks whether the store still has it. */
const PROBE_LEASE = 1;

/** The innermost hold of a key that the calling code owns; with `evenIfOver` also one that ended before its scope did. */
export function ownHold(engine: HoldContext, key: string, evenIfOver = false): Hold | undefined {
  const hold = innermostHold(engine, key, evenIfOver);
  return hold instanceof Hold ? hold : undefined;
}

/** Re-enters a hold of the calling code; undefined if that hold ended meanwhile. */
export async function reenter(
  engine: HoldContext,
  outer: Hold,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold | undefined> {
  checkSharing(engine, outer, options);
  const inner = await admitted(engine, outer, options, startedAt);
  if (!outer.reentry.has(inner)) return undefined;
  // B50: no request while the lease is known to be good.
  if (options.leaseTime === undefined && engine.tickets.isSure(inner.ticket)) return inner;
  try {
    // B54: an inner lease extends the outer one if it is longer than the time left, and never shortens it.
    const holding = heldKeys(engine, scopeOfCaller());
    const late = (key: string): Error => engine.reporter.outOfTime({ ...options, key, startedAt, holding });
    await extendInTime(engine, [inner.ticket], options.leaseTime ?? PROBE_LEASE, options, startedAt, late);
  } catch (error) {
    await inner.release();
    throw error;
  }
  if (!inner.isOver) return inner;
  // The lease turned out to be lost: the caller acquires the lock anew.
  await inner.release();
  return undefined;
}

/** B52: resolves when no other branch of the scope is inside, or when the outer hold has ended: then it is not inside. */
async function admitted(
  engine: HoldContext,
  outer: Hold,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold> {
  const { key, operation, label, permits, reentry } = outer;
  const { reporter, log } = engine;
  // It is the same acquisition as that of the outer hold.
  const terms = { ...options, operation, label, permits };
  const call = new Hold(engine, key, terms, startedAt, scopeOfCaller(), startedAt, outer);
  const how = 're-entered by another branch of the same scope';
  const caller = { ...options, key, startedAt, holding: call.holding };
  call.place = {
    leave: (_, why) => {
      reentry.remove(call, outer);
      const error =
        why === 'aborted' ? call.abortReason : reporter.timedOut(caller, undefined, undefined, how);
      reporter.refuse(call, error);
    },
    onLongWait: () => {
      log.warn(reporter.stillWaits(caller, undefined, how));
    },
  };
  reentry.enter(call, outer);
  if (!call.isSettled) options.onWaiting?.();
  return await call.promise;
}

/**
 * A reader may re-enter an exclusive hold. An exclusive hold inside a shared one would wait for itself, as may
 * further permits inside a hold.
 */
function checkSharing(
  engine: HoldContext,
  { key, limit: held, permits: heldPermits }: Hold,
  { limit, permits }: Pick<ResolvedLockOptions, 'limit' | 'permits'>,
): void {
  if (permits > heldPermits && held === limit) {
    throw new LockUpgradeError(
      `The lock "${key}" is held here with ${String(heldPermits)} of its ${String(limit)} permits, and can't acquire more of them (permits: ` +
        `${String(permits)}): calls that wait for each other's permits would deadlock. Acquire ${String(permits)} from the start, or ` +
        'release the hold first.',
      { keys: [key] },
    );
  }
  if (held === limit || (held === 1 && limit === Infinity)) return;
  if (held !== Infinity || limit !== 1) throw engine.reporter.disagreement({ key, limit }, held);
  throw new LockUpgradeError(
    `The lock "${key}" is held here with mode 'shared', and can't become exclusive: its readers, including this one, would ` +
      'have to end first. Acquire it exclusively from the start, or release the shared hold first.',
    { keys: [key] },
  );
}
