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

/** How many may hold a lock at once, in the words of the options. */
export function modeOf(limit: number): 'exclusive' | 'shared' {
  return limit === 1 ? 'exclusive' : 'shared';
}

/** What all events about a key say. */
export function factsOf(
  { key, name, limit, label }: EventSubject,
  clock: Clock,
): Pick<
  Exclude<LockEvent, { readonly type: 'degraded' }>,
  'key' | 'at' | 'name' | 'mode' | 'limit' | 'label'
> {
  return { key, at: clock.wall(), name: toldName(name), mode: modeOf(limit), limit, label };
}
