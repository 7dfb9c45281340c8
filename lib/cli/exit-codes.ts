import {
  LockClosedError,
  LockOptionsError,
  LockQueueFullError,
  LockTimeoutError,
  LockUnavailableError,
} from '../model/lock.errors.js';
import { UsageError } from './usage-error.js';

/** What the program ends with. They are documented (docs/operations/command-line.md), and stay as they are. */
export const EXIT = {
  ok: 0,
  /** The answer is no: a free key, a refused break, a problem that `doctor` found. */
  no: 1,
  /** A bad command line or configuration. */
  usage: 64,
  /** The store is out of reach, or refuses. */
  unavailable: 69,
  /** A fault of this program. */
  internal: 70,
  /** `lock`: the lock was lost before the command had ended. */
  lost: 74,
  /** `lock`: others hold the lock. */
  notObtained: 75,
  /** `lock`: the command is there, but can't be started. */
  cannotStart: 126,
  /** `lock`: there is no such command. */
  notFound: 127,
  /** And the number of a signal: it ended the command, or the wait for the lock. */
  signalled: 128,
} as const;

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof LockOptionsError) return EXIT.usage;
  if (error instanceof LockUnavailableError || error instanceof LockClosedError) return EXIT.unavailable;
  if (error instanceof LockTimeoutError || error instanceof LockQueueFullError) return EXIT.notObtained;
  return EXIT.internal;
}
