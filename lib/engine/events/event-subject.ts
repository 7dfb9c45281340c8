import type { Clock } from '../../common/clock.js';
import { toldName } from '../../model/lock-name.js';
import type { LockEvent } from '../../model/lock.events.js';

/** What an event is about: a call, or a hold. */
export interface EventSubject {
  readonly key: string;
  readonly name: string;
  /** How many may hold the lock at once. */
  readonly limit: number;
  readonly label: string | undefined;
}

type EventFacts = Pick<
  Exclude<LockEvent, { readonly type: 'degraded' }>,
  'key' | 'at' | 'name' | 'mode' | 'limit' | 'label'
>;

/** How many may hold a lock at once, as people are told of it. */
export function sharingOf(limit: number): Pick<EventFacts, 'mode' | 'limit'> {
  return { mode: limit === 1 ? 'exclusive' : 'shared', limit };
}

/** What calls and holds have in common that are told of to people. */
export function kindOf({ name, limit, label }: Omit<EventSubject, 'key'>): Omit<EventFacts, 'key' | 'at'> {
  return { name: toldName(name), ...sharingOf(limit), label };
}

/** What all events about a key say. */
export function factsOf(subject: EventSubject, clock: Clock): EventFacts {
  return { key: subject.key, at: clock.wall(), ...kindOf(subject) };
}
