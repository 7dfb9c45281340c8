import type { Clock } from '../common/clock.js';
import { check } from './option-checks.js';

/** The kind of a lock, in events, metrics and traces. */
export interface LockKind {
  /** The option `operation`: one of at most 200 in a process, `other` after that. */
  readonly operation: string;
  /** `'exclusive'` for a `limit` of 1. */
  readonly mode: 'exclusive' | 'shared';
  /** How many can hold the lock at once; `Infinity` for readers. */
  readonly limit: number;
  /** How many permits of a semaphore the call requests; else 1. */
  readonly permits: number;
  /** The option `label`: what the lock is used for. */
  readonly label: string | undefined;
}

/** The number of distinct operations; any further one is reported as `other`. */
const MOST_OPERATIONS = 200;

/** The longest operation, characters. */
const LONGEST_OPERATION = 100;

/** The operation of calls without the option `operation`. */
export const DEFAULT_OPERATION = 'default';

/** The operation of candidates of an election, who wait for as long as another process leads. */
export const ELECTION_OPERATION = 'leader election';

const OTHER = 'other';

/** Of all modules of the process, because they use the same metrics registry. */
const operations = new Set<string>([DEFAULT_OPERATION]);

/** The operation in metrics and events. Bounded, so that operations made of keys do not create unlimited metrics. */
export function boundedOperation(operation: string): string {
  if (operations.has(operation)) return operation;
  if (operations.size >= MOST_OPERATIONS) return OTHER;
  operations.add(operation);
  return operation;
}

export function checkOperation(where: string, operation: unknown): string {
  const isGood =
    typeof operation === 'string' && operation.length <= LONGEST_OPERATION && /^[^\p{C}]+$/u.test(operation);
  const rule = `operation must be a string of 1 to ${String(LONGEST_OPERATION)} printable characters`;
  check(isGood, where, rule, operation);
  return operation;
}

/** What an event is about: a call, or a hold. */
export interface EventSubject extends Omit<LockKind, 'mode'> {
  readonly key: string;
}

/** The options `mode` and `limit` for this many concurrent holders. */
export function sharingOf(limit: number): Pick<LockKind, 'mode' | 'limit'> {
  return { mode: limit === 1 ? 'exclusive' : 'shared', limit };
}

/** The fields that events and status have in common. */
export function kindOf({ operation, limit, permits, label }: Omit<LockKind, 'mode'>): LockKind {
  return { operation: boundedOperation(operation), ...sharingOf(limit), permits, label };
}

/** The common fields of all events about a key. */
export function factsOf(
  subject: EventSubject,
  clock: Clock,
): LockKind & { readonly key: string; readonly at: number } {
  return { key: subject.key, at: clock.wall(), ...kindOf(subject) };
}
