import type { OwnerId } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import type { Lease } from '../lease/lease.js';
import { LocalQueue } from './local-queue.js';
import type { QueueTicket } from './queue-ticket.js';
import type { QueueRegistry } from './queue-registry.js';
import type { Waiter } from './waiter.js';

/** The callers of this process that wait in order, by their keys, and the tickets that stand for them in the store. */
export class LocalQueues implements QueueRegistry {
  private readonly queues = new Map<string, LocalQueue>();
  private readonly tickets = new Map<OwnerId, QueueTicket>();

  constructor(private readonly engine: EngineContext) {}

  add(caller: Waiter): void {
    (this.queues.get(caller.key) ?? this.openQueue(caller.key)).add(caller);
  }

  /** Lets the callers to come stand in line behind a hold that was got without a queue. */
  adopt(lease: Lease): void {
    if (lease.state === 'held') (this.queues.get(lease.key) ?? this.openQueue(lease.key)).adopt(lease);
  }

  /** Where the callers of this process stand that wait for a key or hold it, if there are any. */
  queueOf(key: string): LocalQueue | undefined {
    return this.queues.get(key);
  }

  /** Whether callers of this process wait for a key, or hold it and may hand it on. */
  isInUse(key: string): boolean {
    return this.queues.has(key);
  }

  get all(): readonly LocalQueue[] {
    return [...this.queues.values()];
  }

  /** All callers of this process that wait for a key. */
  callersOf(key: string): readonly Waiter[] {
    return [...(this.queues.get(key)?.waiting ?? [])];
  }

  ticketOf(owner: OwnerId): QueueTicket | undefined {
    return this.tickets.get(owner);
  }

  /** Owners whom the store owes an answer, so that it may grant them what nobody here knows of; with their keys. */
  get unanswered(): readonly (readonly [OwnerId, string])[] {
    const asking = [...this.tickets.values()].filter(({ askedAt }) => askedAt !== undefined);
    return asking.map(({ owner, key }) => [owner, key] as const);
  }

  /** Every ticket asks again now. */
  wake(): void {
    for (const queue of this.queues.values()) queue.wake();
  }

  openTicket(ticket: QueueTicket): void {
    this.tickets.set(ticket.owner, ticket);
  }

  closeTicket(ticket: QueueTicket): void {
    this.tickets.delete(ticket.owner);
    if (ticket.heapIndex !== -1) this.engine.timers.clear(ticket);
  }

  closeQueue(queue: { readonly key: string }): void {
    if (this.queues.get(queue.key) === queue) this.queues.delete(queue.key);
  }

  private openQueue(key: string): LocalQueue {
    const queue = new LocalQueue(key, this.engine, this);
    this.queues.set(key, queue);
    return queue;
  }
}
