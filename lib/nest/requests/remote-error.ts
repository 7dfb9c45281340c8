import type { LockError } from '../../model/lock.errors.js';

/** The error in the form in which Nest sends errors to remote clients: an `Error` would lose its message on the way. */
export function remoteError({ message, code, keys }: LockError): object {
  return { status: 'error', message, code, keys };
}
