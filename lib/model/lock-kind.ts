import type { Clock } from '../common/clock.js';
import { check } from './option-checks.js';

/** The kind of a lock, in events, metrics and traces. */
export interface LockKind {
  /** The option `name`: one of at most 200 names in a process, `other` after that. */
  readonly name: string;
  /** `'exclusive'` for a `limit` of 1. */
  readonly mode: 'exclusive' | 'shared';
  /** How many may hold the lock at once; `Infinity` for readers. */
  readonly limit: number;
  /** The option `label`: what the lock is used for. */
  readonly label: string | undefined;
}

/** The number of distinct names; all further names become `other`. */
const MOST_NAMES = 200;

/** The longest name, characters. */
const LONGEST_NAME = 100;

/** The name of locks without the option `name`. */
export const DEFAULT_NAME = 'default';

const OTHER = 'other';

/** Of all modules of the process, as they share its metrics registry. */
const names = new Set<string>([DEFAULT_NAME]);

/** The name in metrics and events. Bounded, so that names made of keys do not create metrics without end. */
export function boundedName(name: string): string {
  if (names.has(name)) return name;
  if (names.size >= MOST_NAMES) return OTHER;
  names.add(name);
  return name;
}

export function checkName(where: string, name: unknown): string {
  const isGood = typeof name === 'string' && name.length <= LONGEST_NAME && /^[^\p{C}]+$/u.test(name);
  check(isGood, where, `name must be a string of 1 to ${String(LONGEST_NAME)} printable characters`, name);
  return name;
}

/** What an event is about: a call, or a hold. */
export interface EventSubject extends Omit<LockKind, 'mode'> {
  readonly key: string;
}

/** How many may hold a lock at once, in the words of the options. */
export function sharingOf(limit: number): Pick<LockKind, 'mode' | 'limit'> {
  return { mode: limit === 1 ? 'exclusive' : 'shared', limit };
}

/** What events and status show of calls and holds alike. */
export function kindOf({ name, limit, label }: Omit<LockKind, 'mode'>): LockKind {
  return { name: boundedName(name), ...sharingOf(limit), label };
}

/** The common fields of all events about a key. */
export function factsOf(
  subject: EventSubject,
  clock: Clock,
): LockKind & { readonly key: string; readonly at: number } {
  return { key: subject.key, at: clock.wall(), ...kindOf(subject) };
}
