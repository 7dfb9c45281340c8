import type { QueueTicket } from './queue-ticket.js';

/** Where the queues of all keys are, and the tickets of this process in the store's queues. */
export interface QueueRegistry {
  /** Has what the store tells its owner reach the ticket. */
  openTicket(ticket: QueueTicket): void;
  closeTicket(ticket: QueueTicket): void;
  /** Nobody waits in this queue any more, it has no lease that may be handed on, and nothing is under way. */
  closeQueue(queue: { readonly key: string }): void;
}
