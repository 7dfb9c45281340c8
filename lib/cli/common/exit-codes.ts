import {
  LockClosedError,
  LockConflictError,
  LockOptionsError,
  LockQueueFullError,
  LockTimeoutError,
  LockUnavailableError,
  LockUnsupportedError,
} from '../../model/lock.errors.js';

/** An invalid command line or configuration. The message says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code = 'USAGE';
}

/** The exit codes, which are documented in docs/reference/command-line.md and must not change. */
export const EXIT = {
  ok: 0,
  /** A negative result: a free key, a refused break, a problem that `doctor` found. */
  no: 1,
  /** An invalid command line or configuration. */
  usage: 64,
  /** The store is unreachable or rejects the request. */
  unavailable: 69,
  /** A bug in this program. */
  internal: 70,
  /** `lock`: the lock was lost before the command ended. */
  lost: 74,
  /** `lock`: the lock is held. */
  notObtained: 75,
  /** `lock`: the command exists but can't be started. */
  cannotStart: 126,
  /** `lock`: there is no such command. */
  notFound: 127,
  /** Plus the number of the signal that ended the command, or the wait for the lock. */
  signalled: 128,
} as const;

const USAGE_ERRORS = [UsageError, LockOptionsError, LockConflictError, LockUnsupportedError];

export function exitCodeOf(error: unknown): number {
  if (USAGE_ERRORS.some((usage) => error instanceof usage)) return EXIT.usage;
  if (error instanceof LockUnavailableError || error instanceof LockClosedError) return EXIT.unavailable;
  if (error instanceof LockTimeoutError || error instanceof LockQueueFullError) return EXIT.notObtained;
  return EXIT.internal;
}
