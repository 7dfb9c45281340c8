import type { LockStoreError } from '../../stores/port/lock-store.js';
import type { LeaseGrant } from '../lease/lease.js';
import type { Waiter } from './waiter.js';

/** What the store says of a grant, asked for or pushed. */
export type GrantReply = Pick<LeaseGrant, 'token' | 'since'> & Partial<LeaseGrant>;

/** The queue whose callers tickets stand for. */
export interface TicketOwner<Ticket> {
  readonly key: string;
  /** How many callers to tell those of who inspect the lock. */
  countAt(ticket: Ticket): number;
  /** The callers that a ticket stands for. */
  callersAt(ticket: Ticket): readonly Waiter[];
  /** How many tokens to ask for with the caller's grant. */
  tokensFor(caller: Waiter, contended: boolean): number;
  /** The store has answered. */
  onReply(ticket: Ticket, holderLeaseLeft: number | undefined, stillQueued: boolean): void;
  /** The store has told that others hold the lock, and will answer when it has done the rest. */
  onKeptWaiting(holderLeaseLeft: number | undefined): void;
  /** The key has another limit than that caller asked for, who may have left meanwhile. */
  onConflict(caller: Waiter, limit: number): void;
  /** The store could not be asked. */
  onError(error: LockStoreError): void;
  /** A lease was granted that the ticket's caller does not want: another ticket's may, and they change places. */
  exchange(ticket: Ticket): void;
  /** A grant arrived when its lease was over already, so many ms after the request. */
  onLateGrant(ticket: Ticket, caller: Waiter, took: number): void;
  /** The lock was granted for the caller of the ticket. */
  deliver(ticket: Ticket, caller: Waiter, grant: LeaseGrant): void;
  /** The ticket has become useless; `failure` says why, if that is the store's fault. */
  leave(ticket: Ticket, failure?: LockStoreError): void;
}
