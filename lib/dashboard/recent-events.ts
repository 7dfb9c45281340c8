import type { Subscription } from 'rxjs';
import type { LockService } from '../api/lock.service.js';
import type { LockEvent } from '../model/lock.events.js';
import type { ShownEvent } from './wire.js';

/** So many are kept. */
const MOST = 200;

/** The last events of a module instance. It listens while somebody looks: without listeners no events are made. */
export class RecentEvents {
  private events: ShownEvent[] = [];
  private subscription: Subscription | undefined;

  constructor(private readonly locks: LockService) {}

  start(): void {
    this.subscription ??= this.locks.events.subscribe((event) => {
      const shown = shownEvent(event);
      if (shown === undefined) return;
      this.events.push(shown);
      if (this.events.length >= 2 * MOST) this.events = this.events.slice(-MOST);
    });
  }

  stop(): void {
    this.subscription?.unsubscribe();
    this.subscription = undefined;
    this.events = [];
  }

  /** The newest first. */
  list(): readonly ShownEvent[] {
    return this.events.slice(-MOST).reverse();
  }
}

/** Those that tell the story of a lock; renewals and places in the queue are seen as they are. */
function shownEvent(event: LockEvent): ShownEvent | undefined {
  switch (event.type) {
    case 'granted':
      return shown(event, event.token, event.waitedFor, null);
    case 'released':
      return shown(event, event.token, event.heldFor, null);
    case 'lost':
      return shown(event, event.token, event.heldFor, event.reason);
    case 'timeout':
    case 'skipped':
    case 'aborted':
      return shown(event, null, event.waitedFor, null);
    case 'broken':
      return shown(event, null, null, event.by ?? null);
    case 'renewal-failed':
      return shown(event, event.token, null, event.error.message);
    case 'unavailable':
      // Of the store, and not of a lock.
      return event.key === undefined ? undefined : shown(event, null, null, null);
    case 'queue-full':
      return shown(event, null, null, null);
    default:
      return undefined;
  }
}

function shown(
  { type, key, at, label }: Exclude<LockEvent, { readonly key?: undefined }>,
  token: number | null,
  lasted: number | null,
  detail: string | null,
): ShownEvent {
  return { type, key, at, label: label ?? null, token, lasted, detail };
}
