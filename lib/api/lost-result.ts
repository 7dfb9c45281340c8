import { LockLostError } from '../model/lock.errors.js';

/** With `onLost: 'throw'`: what a caller gets in place of the value of work whose lock was lost (B27). */
export function lostWithResult(lost: LockLostError, result: unknown): LockLostError {
  return new LockLostError(`${lost.message} The work had ended by itself; its value is in result.`, {
    keys: lost.keys,
    reason: lost.reason,
    cause: lost,
    result,
  });
}
