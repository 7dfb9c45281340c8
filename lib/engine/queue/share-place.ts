import type { LockStoreError, MonotonicMs } from '../../stores/port/lock-store.js';
import type { Waiter } from './waiter.js';
import { pauseBefore } from '../../common/background-retry.js';
import type { Lease } from '../lease/lease.js';
import type { EngineContext } from '../context.js';
import type { QueueRegistry } from './queue-registry.js';
import type { Grant, TicketOwner, QueueTicket } from './queue-place.js';

/** Where the callers stand that have a place each. */
export interface SharePlaceOwner {
  readonly key: string;
  /** What the store told a caller; see {@link TicketOwner}. */
  heard(holderLeaseLeft: number | undefined, stillQueued: boolean): void;
  unheard(error: LockStoreError): void;
  /** The store has answered a place for the first time. */
  answered(place: SharePlace): void;
  /** What the place had in the store is on its way out of it. */
  follow(withdrawal: Promise<void>): void;
  /** Nobody wants the place. */
  left(place: SharePlace): void;
  /** The caller has the lock by this lease, and the place is used up. */
  granted(place: SharePlace, lease: Lease, caller: Waiter, grant: Grant): void;
}

/** One caller's place in the store's queue. */
export class SharePlace implements TicketOwner {
  readonly key: string;
  /** That of all callers that it ever stands for. */
  readonly limit: number;
  place: QueueTicket;
  /** Whether it is in the store's queue, or on its way there. */
  isQueueing: boolean;
  /** Whether the store has not told yet where it is. */
  isProbing: boolean;
  private caller: Waiter | undefined;

  constructor(
    private readonly engine: EngineContext,
    private readonly queues: QueueRegistry,
    private readonly owner: SharePlaceOwner,
    caller: Waiter,
    contended: boolean,
  ) {
    this.isQueueing = contended;
    this.isProbing = !contended;
    this.key = owner.key;
    this.limit = caller.limit;
    this.caller = caller;
    this.place = queues.openPlace(this, contended);
  }

  get head(): Waiter | undefined {
    return this.caller;
  }

  get size(): number {
    return this.caller === undefined ? 0 : 1;
  }

  get waiting(): readonly Waiter[] {
    return this.caller === undefined ? [] : [this.caller];
  }

  /** Stands for another caller with the same limit from now on; for nobody, if there is none. */
  passTo(caller: Waiter | undefined): void {
    this.caller = caller;
    if (caller?.lease !== this.place.askedLease) this.place.wake();
  }

  skipOverdue(now: MonotonicMs): void {
    if (this.caller?.isOverdue(now) === true) this.caller.fire();
  }

  heard(holderLeaseLeft: number | undefined, stillQueued: boolean): void {
    const wasProbing = this.isProbing;
    this.isProbing = false;
    this.isQueueing = stillQueued;
    this.owner.heard(holderLeaseLeft, stillQueued);
    if (wasProbing) this.owner.answered(this);
    if (stillQueued && this.caller !== undefined) this.engine.reporter.queued(this.caller, holderLeaseLeft);
  }

  /** It is not in the queue yet, so that others must not go there before it. */
  heldByOthers(holderLeaseLeft: number | undefined): void {
    this.owner.heard(holderLeaseLeft, true);
  }

  conflicting(limit: number): void {
    const { caller, engine } = this;
    if (caller !== undefined) this.fail(engine.reporter.disagreement(caller, limit));
  }

  unheard(error: LockStoreError): void {
    this.owner.unheard(error);
    if (!error.retryable) this.fail(this.engine.reporter.unavailable(this.key, error));
  }

  deliver(place: QueueTicket, caller: Waiter, grant: Grant): void {
    const { engine, queues } = this;
    queues.closePlace(place);
    const lease = engine.leases.open(place, caller, grant);
    this.caller = undefined;
    this.owner.granted(this, lease, caller, grant);
  }

  leave(place: QueueTicket, failure?: LockStoreError): void {
    const { engine, caller, queues } = this;
    queues.closePlace(place);
    if (place.mayExist) this.owner.follow(engine.withdraw(this.key, place.owner, place.inDoubt));
    if (caller === undefined) {
      this.owner.left(this);
      return;
    }
    // Granted for another lease, or no longer: asked for anew, under a new name.
    this.isQueueing = true;
    this.isProbing = false;
    this.place = queues.openPlace(this, true);
    if (failure === undefined) this.place.goOn();
    else this.place.pause(pauseBefore(1));
  }

  private fail(error: Error): void {
    const { caller } = this;
    this.caller = undefined;
    if (caller !== undefined) this.engine.reporter.refuse(caller, error);
  }
}
