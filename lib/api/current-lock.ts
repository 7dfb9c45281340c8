import { currentHold } from '../engine/scope.js';
import { LockNotHeldError } from '../model/lock.errors.js';
import type { LockHandle } from '../model/lock-handle.js';
import { checkKey } from '../model/lock-key.js';

/**
 * The innermost hold of the running code, of `key` or of any key, whichever module instance granted it. For code under
 * `@Locked`, which receives no handle, and for the code it calls. For keys acquired together, it is the hold of that
 * one key, or without `key` the hold of all of them.
 *
 * @throws LockLostError if that hold was lost; LockNotHeldError if the running code does not hold such a lock;
 * LockOptionsError for an invalid key
 */
export function currentLock(key?: string): LockHandle {
  const hold = currentHold(undefined, key === undefined ? undefined : checkKey('currentLock()', key));
  if (hold !== undefined) return hold;
  throw new LockNotHeldError(
    `${key === undefined ? 'No lock is' : `The lock "${key}" is not`} held here. Call currentLock() inside withLock(), a ` +
      '@Locked method or handle.run().',
    { keys: key === undefined ? [] : [key] },
  );
}
