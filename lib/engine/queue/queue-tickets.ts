import { pauseBefore } from '../../common/background-retry.js';
import type { LockStoreError, MonotonicMs } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import { QueueTicket } from './queue-ticket.js';
import type { TicketOwner } from './ticket-owner.js';
import type { QueueRegistry } from './queue-registry.js';
import type { Waiter } from './waiter.js';

/**
 * Tickets of one process for one key at most: enough to fill what gets free, and few who ask again. No more callers are
 * looked at to find those who need one.
 */
const MAX_TICKETS = 64;

/** What was heard longer ago than this, ms, says nothing any more about who holds the lock, without a place in its queue. */
const OLD = 250;

const NONE: readonly QueueTicket[] = [];

/**
 * The places of this process in the store's queue of one key, in order, and those that it is giving up; and what the
 * store has told of the key, or has not (B11).
 */
export class QueueTickets {
  /** Nobody needs it any more, as of the last look. */
  lastFreed: QueueTicket | undefined;
  /** Why the last request failed, if it did. */
  failure: LockStoreError | undefined;
  private open = NONE;
  /** Those without a caller, and what is on its way out of the store. */
  private leaving: Set<QueueTicket | PromiseLike<unknown>> | undefined;
  /** How many of those are tickets. */
  private freed = 0;
  private whenIdle: (() => void)[] | undefined;
  /** Whether the store has told of the key, and when it did so last. */
  private isTold = false;
  private toldAt = -Infinity;
  /** When the lease of somebody else's hold ends. */
  private freeAt: number | undefined;

  constructor(
    private readonly context: EngineContext,
    private readonly owner: TicketOwner<QueueTicket>,
    private readonly registry: QueueRegistry,
  ) {}

  get size(): number {
    return this.open.length;
  }

  /** Whether there is none in the store, and none is on its way there. */
  get isEmpty(): boolean {
    return this.open.length === 0 && this.freed === 0;
  }

  get first(): QueueTicket | undefined {
    return this.open[0];
  }

  /** Whether anything is on its way out of the store. */
  get isLeaving(): boolean {
    return this.leaving !== undefined && this.leaving.size > 0;
  }

  /** Whether the store has told that others are before the first, and can be relied on. */
  get isKnownQueued(): boolean {
    const [first] = this.open;
    return this.failure === undefined && first?.answered === true && !first.isSilent;
  }

  /** Whether the store has neither told of the key nor failed. */
  get isNothingKnown(): boolean {
    return !this.isTold && this.failure === undefined;
  }

  /** Whether it has told only tickets that are gone, and long ago. */
  isOutdated(now: MonotonicMs): boolean {
    return this.isTold && now - this.toldAt > OLD && !this.areAnswered;
  }

  /** Whether it is known that others kept a caller waiting, who asked at that time. */
  tellsOfHolder(startedAt: MonotonicMs, isSilent: boolean): boolean {
    return this.failure === undefined && (this.toldAt >= startedAt || (this.isTold && !isSilent));
  }

  /** ms left of the holder's lease, as far as it is known. */
  get holderLeaseLeft(): number | undefined {
    if (this.freeAt === undefined) return undefined;
    return Math.max(0, Math.round(this.freeAt - this.context.clock.monotonic()));
  }

  /** @param holderLeaseLeft ms, if somebody holds the lock and the store knows */
  heard(holderLeaseLeft: number | undefined, stillQueued: boolean): void {
    const now = this.context.clock.monotonic();
    this.isTold = true;
    this.toldAt = now;
    this.failure = undefined;
    if (stillQueued) this.freeAt = holderLeaseLeft === undefined ? undefined : now + holderLeaseLeft;
  }

  /** A ticket is taken back: without others that were answered, nobody is known to keep this process waiting any more. */
  forget(): void {
    if (!this.areAnswered) this.isTold = false;
  }

  of(caller: Waiter): QueueTicket | undefined {
    return this.open.find(({ head }) => head === caller);
  }

  has(caller: Waiter): boolean {
    return this.of(caller) !== undefined;
  }

  /** Asks again now. */
  wake(): void {
    for (const ticket of this.open) ticket.wake();
  }

  /**
   * Assigns the tickets to those who need one, in order, and opens more, `wanted` in all. What nobody needs is given up.
   *
   * @param contended whether the lock is expected to be held
   */
  provide(needy: readonly Waiter[], wanted: number, contended: boolean): void {
    this.lastFreed = undefined;
    let count = 0;
    for (const caller of needy) {
      if (caller.isSettled) continue;
      let ticket = this.open[count];
      while (ticket !== undefined && ticket.limit !== caller.limit) {
        this.giveUp(ticket);
        ticket = this.open[count];
      }
      if (ticket !== undefined) ticket.standFor(caller);
      else if (count >= wanted || !this.openFor(caller, contended)) break;
      count += 1;
    }
    for (let ticket = this.open[count]; ticket !== undefined; ticket = this.open[count]) this.giveUp(ticket);
  }

  /**
   * The same for shares: one for each of the first callers, but a single one for all readers who can live on one lease.
   *
   * @param serving how many leases of this process may well serve the next callers
   */
  provideShares(head: Waiter, serving: number, contended: boolean): void {
    const { limit } = head;
    const isForReaders = limit === Infinity;
    const wanted = isForReaders ? MAX_TICKETS : Math.min(limit, MAX_TICKETS) - serving;
    let left = isForReaders ? MAX_TICKETS : Math.max(wanted, this.size);
    const canShare = isForReaders && this.context.session.reserve !== undefined;
    let isCovered = canShare && serving > 0;
    const needy: Waiter[] = [];
    for (let each: Waiter | undefined = head; each?.limit === limit && left > 0; each = each.next, left--) {
      const shares = canShare && !each.needsOwnLease;
      if (!shares || !isCovered) needy.push(each);
      isCovered ||= shares;
    }
    this.provide(needy, wanted, contended);
  }

  /** It has brought its grant, or was taken back. Answers whether somebody wanted it. */
  remove(ticket: QueueTicket): boolean {
    this.registry.closeTicket(ticket);
    if (this.leaving?.delete(ticket) === true) {
      this.freed -= 1;
      this.tellIfIdle();
      return false;
    }
    this.open = this.open.length === 1 ? NONE : this.open.filter((each) => each !== ticket);
    return true;
  }

  /**
   * Strict order: a caller was served without its place, which may be before that of others who came after it and before
   * those who would inherit it (P26).
   */
  forfeit(caller: Waiter): void {
    const ticket = this.of(caller);
    if (ticket === undefined) return;
    this.giveUp(ticket);
    this.lastFreed = undefined;
    // Nor may anybody take it back while its request is under way.
    if (ticket.askedAt !== undefined) ticket.abandon();
  }

  /**
   * Has the ticket stand for a caller who wants the lease that it was asked for with, if another ticket has one. Else
   * tickets that pass from caller to caller while they ask would be given back again and again, and nobody be served.
   */
  exchange(ticket: QueueTicket): void {
    const { head, limit, askedLease } = ticket;
    const other = this.open.find((each) => each.limit === limit && each.head?.lease === askedLease);
    if (other === undefined) return;
    ticket.standFor(other.head);
    other.standFor(head);
  }

  /** The store has failed a ticket for this caller: asks under a new name after a pause. */
  reopen(caller: Waiter, isContended: boolean): void {
    const ticket = this.add(caller, isContended);
    ticket.pause(pauseBefore(1));
  }

  /** Counts that as something which is on its way out of the store. */
  follow(withdrawal: PromiseLike<unknown>): void {
    const leaving = (this.leaving ??= new Set());
    leaving.add(withdrawal);
    void withdrawal.then(() => {
      leaving.delete(withdrawal);
      this.tellIfIdle();
    });
  }

  /** Resolves when nothing is on its way out of the store any more. */
  async idle(): Promise<void> {
    while (this.isLeaving) {
      await new Promise<void>((resolve) => {
        (this.whenIdle ??= []).push(resolve);
      });
    }
  }

  /** Who finds out whether there is room must not be overtaken by who goes to the queue at once. */
  private openFor(caller: Waiter, contended: boolean): boolean {
    const isBusy = contended || this.open.some(({ isQueueing }) => isQueueing);
    if (isBusy && this.open.some(({ isProbing }) => isProbing)) return false;
    if (!this.takeBack(caller)) this.add(caller, isBusy).goOn();
    return true;
  }

  /** Gives the caller a ticket that nobody needed any more, but whose request is still under way. Whether there was one. */
  private takeBack(caller: Waiter): boolean {
    if (this.freed === 0) return false;
    for (const ticket of this.leaving ?? []) {
      if (!(ticket instanceof QueueTicket) || ticket.limit !== caller.limit) continue;
      this.leaving?.delete(ticket);
      this.freed -= 1;
      this.open = [...this.open, ticket];
      ticket.standFor(caller);
      this.tellIfIdle();
      return true;
    }
    return false;
  }

  private add(caller: Waiter, contended: boolean): QueueTicket {
    const ticket = new QueueTicket(this.context, this.owner, caller, contended);
    this.open = this.open.length === 0 ? [ticket] : [...this.open, ticket];
    this.registry.openTicket(ticket);
    return ticket;
  }

  private giveUp(ticket: QueueTicket): void {
    this.lastFreed = ticket;
    this.open = this.open.filter((each) => each !== ticket);
    (this.leaving ??= new Set()).add(ticket);
    this.freed += 1;
    ticket.standFor(undefined);
  }

  private get areAnswered(): boolean {
    return this.open.some(({ answered }) => answered);
  }

  private tellIfIdle(): void {
    if (this.isLeaving || this.whenIdle === undefined) return;
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }
}
