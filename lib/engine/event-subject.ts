import type { Clock } from '../common/clock.js';
import type { LockKind } from '../model/lock-kind.js';
import { boundedName } from '../model/lock-kind.js';

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
