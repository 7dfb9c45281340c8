import { Hold } from '../engine/hold.js';
import { MultiHold } from '../engine/multi-hold.js';
import { LockLostError, originate, originOf } from '../model/lock.errors.js';
import type { LockHandle } from '../model/lock-handle.js';

// The parts of the engine that request handling uses.
export type { CallsInFlight } from '../common/deferred.js';
export { HandlerScope } from '../engine/scope.js';

/** Releases a lock whose work has ended; resolves when the release has been sent. Never rejects. */
export async function releaseAfterWork(handle: LockHandle): Promise<void> {
  try {
    // A handle that the application created itself, for example in its tests, has only `release()`.
    await (isHold(handle) ? handle.sendRelease() : handle.release());
  } catch {
    // A custom store may throw; that must not mask the outcome of the work.
  }
}

/**
 * For `onLost: 'throw'`: the error that replaces the result if the lock was lost before its work ended. Releases
 * the lock and waits for the reply, since some losses are known only to the store.
 */
export async function lossOf(handle: LockHandle, result: unknown): Promise<LockLostError | undefined> {
  const releasing = handle.release();
  // Read before the reply, which may show that several keys were lost: the error below names all of them.
  const known = isHold(handle) ? handle.expire() : undefined;
  const outcome = await releasing;
  if (known !== undefined) return lostWithResult(known, result, handle);
  if (outcome !== 'expired') return undefined;
  const keys = await expiredKeys(handle);
  const names = keys.map((key) => `"${key}"`).join(', ');
  const what = keys.length === 1 ? `The lock ${names} was` : `The locks ${names} were`;
  const error = new LockLostError(`${what} lost: the store no longer had it when it was released.`, {
    keys,
    reason: 'expired',
  });
  return lostWithResult(error, result, handle);
}

/** The error that replaces the result of work whose lock was lost. */
export function lostWithResult(lost: LockLostError, result: unknown, handle: LockHandle): LockLostError {
  const error = new LockLostError(`${lost.message} The work completed anyway; its value is in result.`, {
    keys: lost.keys,
    reason: lost.reason,
    cause: lost,
    result,
  });
  return originate(error, originOf(lost) ?? (isHold(handle) ? handle.engine : undefined));
}

async function expiredKeys(handle: LockHandle): Promise<readonly string[]> {
  const keys: string[] = [];
  for (const key of handle.keys) {
    const hold = handle instanceof MultiHold ? handle.holdOf(key) : handle;
    if ((await hold?.release()) === 'expired') keys.push(key);
  }
  return keys;
}

function isHold(handle: LockHandle): handle is Hold | MultiHold {
  return handle instanceof Hold || handle instanceof MultiHold;
}
