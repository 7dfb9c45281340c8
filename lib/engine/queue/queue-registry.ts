import type { QueueTicket, TicketOwner } from './queue-place.js';

/** Where the queues of all keys are, and the tickets of this process in the store's queues. */
export interface QueueRegistry {
  openPlace(owner: TicketOwner, contended: boolean): QueueTicket;
  closePlace(ticket: QueueTicket): void;
  /** Nobody waits in this queue any more, and nothing is under way. */
  closeQueue(queue: { readonly key: string }): void;
  closeShares(queue: { readonly key: string }): void;
  /** Those who wait for all of a lock. */
  queueOf(key: string): ExclusiveQueue | undefined;
}

/** What others know of the queue of those who want all of a lock. */
interface ExclusiveQueue {
  /** Whether the lock is known to be held. */
  readonly isKnownBusy: boolean;
  /** Whether a caller stands in line here whom the store does not know of. Tells whoever asks when that may have changed. */
  keepsBack(followers: { goOn(): void }): boolean;
}
