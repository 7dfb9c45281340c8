import { whenReplied } from '../../common/pending-reply.js';
import {
  LockStoreError,
  type AskReply,
  type MonotonicMs,
  type OwnerId,
} from '../../stores/port/lock-store.js';
import type { PushedGrant } from '../../stores/port/lock-store.js';
import type { Waiter } from './waiter.js';
import type { Timer } from '../../common/timer-queue.js';
import { deadlineOf, later } from '../../common/clock.js';
import { pauseBefore } from '../../common/background-retry.js';
import type { LeaseGrant } from '../lease/lease.js';
import type { EngineContext } from '../context.js';
import { SILENCE } from '../time/time-limits.js';
import { tokensFor } from './local-turns.js';
import { storeFailure } from '../../stores/port/store-failure.js';

/** A waiter asks again at least this often, ms: its heartbeat, and the cure for lost messages (P14). */
const POLL = 1_000;
/** So that the waiters of an expired lock do not all ask in the same moment, ms. */
const POLL_JITTER = 30;
/** Lease of a pushed grant until it is claimed, ms (P12). */
const CLAIM_LEASE = 2_000;

/** What the store says of a grant. */
export interface Grant extends LeaseGrant {
  readonly tokens: number | undefined;
  readonly othersWait: boolean | undefined;
}

/** The callers that a place stands for. */
export interface TicketOwner {
  readonly key: string;
  readonly head: Waiter | undefined;
  readonly size: number;
  /** All of them, in order. */
  readonly waiting: Iterable<Waiter>;
  /** Tells callers at the head whose time is over. */
  skipOverdue(now: MonotonicMs): void;
  /** The store has answered; with undefined it granted or cancelled. */
  heard(holderLeaseLeft: number | undefined, stillQueued: boolean): void;
  /** The store has told that others hold the lock, and will answer when it has done the rest. */
  heldByOthers(holderLeaseLeft: number | undefined): void;
  /** The key has another limit than the caller at the head asks for. */
  conflicting(limit: number): void;
  /** The store could not be asked. */
  unheard(error: LockStoreError): void;
  /** The lock was granted for the caller at the head. */
  deliver(place: QueueTicket, caller: Waiter, grant: Grant): void;
  /** The place has become useless; `failure` says why, if that is the store's fault. */
  leave(place: QueueTicket, failure?: LockStoreError): void;
}

/**
 * This process's place in the store's queue of one key. It asks for the caller at the head until the lock is granted or
 * nobody is left. It belongs to the queue, not to a caller: when the caller at the head gives up, the next one inherits
 * it, so that the process keeps its turn (B13).
 */
export class QueueTicket implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  readonly owner: OwnerId;
  /** The lease that the store would grant for this place at the moment. */
  askedLease = 0;
  /** Whether a request of this owner may still be under way. */
  inDoubt = false;
  /** Since when a request is under way. */
  askedAt: MonotonicMs | undefined;
  /** Whether the session keeps that request to itself still. */
  isHeldBack = false;
  /** Whether the store has answered at least once. */
  answered = false;

  /** The shortest lease that a request in doubt has asked for. */
  private shortestInDoubt = Infinity;
  /** Whether a grant was broken while a request was under way, so that its answer may tell of that grant. */
  private wasBroken = false;
  /** Requests in a row that failed. */
  private failures = 0;
  private grant: PushedGrant | undefined;
  private pausing = false;
  private isAbandoned = false;
  private roused = false;

  /** @param contended whether the lock is expected to be held */
  constructor(
    private readonly engine: EngineContext,
    private readonly holder: TicketOwner,
    private contended: boolean,
  ) {
    this.owner = engine.nextOwner();
  }

  get key(): string {
    return this.holder.key;
  }

  /** Whether the store may know this owner, so that it has to be told when nobody wants the place any more. */
  get mayExist(): boolean {
    return this.answered || this.inDoubt || this.askedAt !== undefined;
  }

  /** Whether the store owes an answer for so long that it can't be relied on. */
  get isSilent(): boolean {
    if (this.askedAt === undefined || this.isHeldBack) return false;
    return this.engine.clock.monotonic() - this.askedAt > SILENCE;
  }

  /** The callers that it stands for. */
  get callers(): readonly Waiter[] {
    return [...this.holder.waiting];
  }

  /** The store brought a grant without being asked again. */
  push(grant: PushedGrant): void {
    this.grant = grant;
    this.wake();
  }

  /** The store has begun to answer: others hold the lock. */
  heldByOthers(holderLeaseLeft: number | undefined): void {
    if (this.askedAt === undefined) return;
    this.askedAt = this.engine.clock.monotonic();
    this.holder.heldByOthers(holderLeaseLeft);
  }

  /** The session does not send the request yet. */
  heldBack(): void {
    this.isHeldBack = true;
  }

  /** The session sends the request now, if anybody wants it. */
  resumes(): boolean {
    this.isHeldBack = false;
    if (this.askedAt !== undefined) this.askedAt = this.engine.clock.monotonic();
    return this.holder.head !== undefined;
  }

  /** What was granted to this owner was broken by force. */
  broken(): void {
    this.grant = undefined;
    this.wasBroken = this.askedAt !== undefined;
    this.wake();
  }

  /** Ends the pause, or the next one if there is none now. */
  wake(): void {
    if (!this.pausing) {
      this.roused = true;
      return;
    }
    this.engine.timers.clear(this);
    this.fire();
  }

  /** The pause is over. */
  fire(): void {
    this.pausing = false;
    this.goOn();
  }

  pause(ms: number): void {
    if (this.roused) {
      this.roused = false;
      this.goOn();
      return;
    }
    this.pausing = true;
    this.engine.timers.set(this, later(this.engine.clock.monotonic(), ms));
  }

  /** Leaves without waiting for the answer to the request under way, which is taken back. */
  abandon(): void {
    this.isAbandoned = true;
    this.inDoubt ||= this.askedAt !== undefined;
    this.holder.leave(this);
  }

  /** Asks for the caller at the head, if nothing has been brought meanwhile. */
  goOn(): void {
    if (this.grant !== undefined) this.holder.skipOverdue(this.engine.clock.monotonic());
    const { head } = this.holder;
    if (head === undefined) this.holder.leave(this);
    else if (!this.deliverPushed(head)) this.ask(head);
  }

  private ask(head: Waiter): void {
    const { engine, holder } = this;
    const { lease } = head;
    const sentAt = engine.leases.sendingAt();
    this.askedLease = lease;
    this.askedAt = sentAt;
    this.isHeldBack = false;
    const answer = engine.ask({
      key: holder.key,
      owner: this.owner,
      lease,
      claimLease: lease < CLAIM_LEASE ? lease : CLAIM_LEASE,
      wait: true,
      callers: holder.size,
      tokens: holder.size > 1 && head.inherits ? tokensFor(holder.size) : 1,
      contended: this.contended,
      limit: head.limit,
      label: head.label,
    });
    whenReplied(
      answer,
      (reply) => {
        if (this.isAbandoned) return;
        try {
          this.replied(sentAt, reply, head);
        } catch (error) {
          // A store of the user's may answer anything.
          const { message } = storeFailure(error);
          this.failed(new LockStoreError(message, { inDoubt: true, retryable: false, cause: error }));
        }
      },
      (error) => {
        if (!this.isAbandoned) this.failed(storeFailure(error));
      },
    );
  }

  private replied(sentAt: MonotonicMs, reply: AskReply, askedFor: Waiter): void {
    const { holder } = this;
    this.askedAt = undefined;
    this.answered = true;
    this.failures = 0;
    if (reply.outcome === 'granted') {
      holder.heard(undefined, false);
      this.granted(sentAt, reply);
    } else if (reply.outcome === 'cancelled') {
      holder.heard(undefined, false);
      holder.leave(this);
    } else if (reply.outcome === 'conflict') {
      holder.heard(undefined, false);
      // Who has come to the head since may have nobody to differ from any more, and is asked for anew.
      if (holder.head === askedFor) holder.conflicting(reply.limit);
      holder.leave(this);
    } else {
      this.contended = true;
      this.wasBroken = false;
      holder.heard(reply.holderLeaseLeft, true);
      this.stayQueued(reply.holderLeaseLeft);
    }
  }

  private granted(sentAt: MonotonicMs, grant: Pick<Grant, 'token' | 'since'> & Partial<Grant>): void {
    const { engine, holder, wasBroken } = this;
    const { head } = holder;
    this.wasBroken = false;
    // Granted for a caller who is gone, for another lease, or no longer: given back, and asked for anew.
    if (head?.lease !== this.askedLease || wasBroken) {
      holder.leave(this);
      return;
    }
    if (engine.leases.mayBeOver(sentAt, head.lease)) {
      holder.leave(this, lateAnswer(head.lease));
      return;
    }
    const { token, since, tokens, othersWait, degraded = false } = grant;
    const deadline = deadlineOf(sentAt, head.lease);
    holder.deliver(this, head, {
      token,
      since,
      startedAt: sentAt,
      deadline,
      unclaimed: false,
      degraded,
      tokens,
      othersWait,
    });
  }

  private failed(error: LockStoreError): void {
    if (error.inDoubt) {
      this.inDoubt = true;
      this.shortestInDoubt = Math.min(this.shortestInDoubt, this.askedLease);
    }
    this.askedAt = undefined;
    this.wasBroken = false;
    this.holder.unheard(error);
    if (!error.retryable) {
      // Asking again can't help.
      this.holder.leave(this, error);
      return;
    }
    this.failures += 1;
    this.pause(pauseBefore(this.failures));
  }

  private stayQueued(holderLeaseLeft: number | undefined): void {
    if (this.holder.head?.lease !== this.askedLease) {
      this.goOn();
      return;
    }
    const expiry = (holderLeaseLeft ?? Infinity) + 1 + Math.random() * POLL_JITTER;
    this.pause(Math.min(expiry, POLL));
  }

  /** P12: the woken process holds the lock already; it starts at once and claims in the same moment. */
  private deliverPushed(head: Waiter): boolean {
    const { grant } = this;
    if (grant === undefined) return false;
    this.grant = undefined;
    // Asking claims a grant that is there already, with the lease that is asked for. If such a request was lost, nobody
    // knows how long the lease is: asking again tells.
    if (this.shortestInDoubt < grant.lease) return false;
    const { token, since, startedAt, tokens, othersWait, degraded = false } = grant;
    const lease = Math.min(grant.lease, head.lease);
    // P13: not surely held any longer, so it is not started but asked for again.
    if (this.engine.leases.mayBeOver(startedAt, lease)) return false;
    const deadline = deadlineOf(startedAt, lease);
    this.holder.deliver(this, head, {
      token,
      since,
      startedAt,
      deadline,
      unclaimed: true,
      degraded,
      tokens,
      othersWait,
    });
    return true;
  }
}

function lateAnswer(lease: number): LockStoreError {
  return new LockStoreError(
    `its answer took longer than the lease of ${String(lease)} ms that was asked for`,
    { inDoubt: false, retryable: true },
  );
}
