import type { LockAddress, Overview, ShownEvent } from '../wire.js';

/** What happened to one lock, the newest first. */
export type History = ReadonlyMap<string, ShownEvent>;

/** The most of what happened that is kept while the lock is looked at. */
const MOST_EVENTS = 100;

/** A lock's history with what processes tell of it now: those of its module instance, since another one's is another lock. */
export function withNews(history: History, address: LockAddress, { processes }: Overview): History {
  const seen = new Map(history);
  for (const { client, instance, recent } of processes) {
    if (instance !== address.instance) continue;
    for (const event of recent) {
      if (event.key !== address.key) continue;
      seen.set([client, event.type, event.at, event.token, event.lasted].join(' '), event);
    }
  }
  return new Map([...seen].sort(([, one], [, other]) => other.at - one.at).slice(0, MOST_EVENTS));
}
