import type { Clock } from '../../common/clock.js';
import { boundedName, type LockKind } from '../../model/lock-kind.js';

/** What an event is about: a call, or a hold. */
export interface EventSubject extends Omit<LockKind, 'mode'> {
  readonly key: string;
}

/** How many may hold a lock at once, as people are told of it. */
export function sharingOf(limit: number): Pick<LockKind, 'mode' | 'limit'> {
  return { mode: limit === 1 ? 'exclusive' : 'shared', limit };
}

/** What calls and holds have in common that are told of to people. */
export function kindOf({ name, limit, label }: Omit<LockKind, 'mode'>): LockKind {
  return { name: boundedName(name), ...sharingOf(limit), label };
}

/** What all events about a key say. */
export function factsOf(
  subject: EventSubject,
  clock: Clock,
): LockKind & { readonly key: string; readonly at: number } {
  return { key: subject.key, at: clock.wall(), ...kindOf(subject) };
}
