import type { OwnerId } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import type { Lease } from '../lease/lease.js';
import { KeyQueue } from './key-queue.js';
import { QueueTicket, type TicketOwner } from './queue-place.js';
import type { QueueRegistry } from './queue-registry.js';
import { ShareQueue } from './share-queue.js';
import type { Waiter } from './waiter.js';

/** The callers of this process that wait in order, by their keys, and the tickets that stand for them in the store. */
export class LocalQueues implements QueueRegistry {
  private readonly queues = new Map<string, KeyQueue>();
  private readonly shares = new Map<string, ShareQueue>();
  private readonly tickets = new Map<OwnerId, QueueTicket>();

  constructor(private readonly engine: EngineContext) {}

  add(caller: Waiter): void {
    const { key } = caller;
    if (caller.limit !== 1 || (this.shares.size > 0 && this.shares.has(key)))
      (this.shares.get(key) ?? this.openShares(key)).add(caller);
    else (this.queues.get(key) ?? this.openQueue(key)).add(caller);
  }

  /** Lets the callers to come stand in line behind a hold that was got without a queue. */
  adopt(lease: Lease, fair: boolean): void {
    if (lease.state === 'held') (this.queues.get(lease.key) ?? this.openQueue(lease.key)).adopt(lease, fair);
  }

  /** Where the callers of this process stand that wait for all of a key, if there are any. */
  queueOf(key: string): KeyQueue | undefined {
    return this.queues.get(key);
  }

  /** Whether callers of this process wait for a key, or hold it and may hand it on. */
  isInUse(key: string): boolean {
    return this.queues.has(key) || this.shares.has(key);
  }

  get all(): readonly (KeyQueue | ShareQueue)[] {
    return [...this.queues.values(), ...this.shares.values()];
  }

  /** All callers of this process that wait for a key. */
  callersOf(key: string): readonly Waiter[] {
    return [...(this.queues.get(key)?.waiting ?? []), ...(this.shares.get(key)?.waiting ?? [])];
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
    for (const queue of this.shares.values()) queue.wake();
  }

  openPlace(queue: TicketOwner, contended: boolean): QueueTicket {
    const ticket = new QueueTicket(this.engine, queue, contended);
    this.tickets.set(ticket.owner, ticket);
    return ticket;
  }

  closePlace(ticket: QueueTicket): void {
    this.tickets.delete(ticket.owner);
    if (ticket.heapIndex !== -1) this.engine.timers.clear(ticket);
  }

  closeQueue(queue: { readonly key: string }): void {
    if (this.queues.get(queue.key) === queue) this.queues.delete(queue.key);
  }

  closeShares(queue: { readonly key: string }): void {
    if (this.shares.get(queue.key) === queue) this.shares.delete(queue.key);
  }

  private openQueue(key: string): KeyQueue {
    const queue = new KeyQueue(key, this.engine, this);
    this.queues.set(key, queue);
    return queue;
  }

  private openShares(key: string): ShareQueue {
    const queue = new ShareQueue(key, this.engine, this);
    this.shares.set(key, queue);
    return queue;
  }
}
