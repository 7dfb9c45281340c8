import { whenReplied } from '../../common/pending-reply.js';
import type {
  AskReply,
  LockStoreError,
  MonotonicMs,
  OwnerId,
  PushedGrant,
} from '../../stores/port/lock-store.js';
import type { GrantReply, TicketOwner } from './ticket-owner.js';
import { endOverdue, type Waiter } from './waiter.js';
import { later } from '../../common/clock.js';
import type { Timer } from '../../common/timer-queue.js';
import { pauseBefore } from '../../common/background-retry.js';
import type { EngineContext } from '../context.js';
import { CLAIM_LEASE, POLL, POLL_JITTER, SILENCE } from '../time/time-limits.js';
import { storeFailure, unusableReply } from '../../stores/port/store-failure.js';

/**
 * A place of this process in the store's queue of one key. It asks for a caller until the lock is granted or nobody wants
 * it any more. It belongs to the queue of the process, not to a caller: when its caller is served in another way or gives
 * up, the next one with the same limit inherits it, so that the process keeps its turn (B13).
 */
export class QueueTicket implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  readonly owner: OwnerId;
  /** That of all callers that it ever stands for: what the store answers to it is for one limit. */
  readonly limit: number;
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
  /** Whether it is in the store's queue, or on its way there. */
  isQueueing: boolean;

  /** The shortest lease that a request in doubt has asked for. */
  private shortestInDoubt = Infinity;
  /** Whether a grant was broken while a request was under way, so that its answer may tell of that grant. */
  private wasBroken = false;
  /** Requests in a row that failed. */
  private failures = 0;
  private grant: PushedGrant | undefined;
  private isAbandoned = false;
  /** Whether the next pause between two requests is not to begin. */
  private isAwake = false;
  /** For whom it asks; undefined when nobody wants it any more. */
  head: Waiter | undefined;

  /** @param contended whether the lock is expected to be held */
  constructor(
    private readonly context: EngineContext,
    private readonly queue: TicketOwner<QueueTicket>,
    head: Waiter,
    private contended: boolean,
  ) {
    this.owner = context.nextOwner();
    this.head = head;
    this.limit = head.limit;
    this.isQueueing = contended;
  }

  get key(): string {
    return this.queue.key;
  }

  /** Whether the store has not told yet where it is. */
  get isProbing(): boolean {
    return !this.answered && !this.contended;
  }

  /** Whether the store may know this owner, so that it has to be told when nobody wants the place any more. */
  get mayExist(): boolean {
    return this.answered || this.inDoubt || this.askedAt !== undefined;
  }

  /** Whether the store owes an answer for so long that it can't be relied on. */
  get isSilent(): boolean {
    if (this.askedAt === undefined || this.isHeldBack) return false;
    return this.context.clock.monotonic() - this.askedAt > SILENCE;
  }

  /** The callers that it stands for. */
  get callers(): readonly Waiter[] {
    return this.queue.callersAt(this);
  }

  /** Asks for that caller from now on; for nobody, if there is none. */
  standFor(caller: Waiter | undefined): void {
    if (this.head === caller) return;
    this.head = caller;
    if (caller?.lease !== this.askedLease) this.wake();
  }

  /** The store brought a grant without being asked again. */
  push(grant: PushedGrant): void {
    this.grant = grant;
    this.wake();
  }

  /** The store has begun to answer: others hold the lock. */
  heldByOthers(holderLeaseLeft: number | undefined): void {
    if (this.askedAt === undefined) return;
    this.askedAt = this.context.clock.monotonic();
    this.queue.onKeptWaiting(holderLeaseLeft);
  }

  /** The session does not send the request yet. */
  heldBack(): void {
    this.isHeldBack = true;
  }

  /** The session sends the request now, if anybody wants it. */
  resumes(): boolean {
    this.isHeldBack = false;
    if (this.askedAt !== undefined) this.askedAt = this.context.clock.monotonic();
    return this.head !== undefined;
  }

  /** What was granted to this owner was broken by force. */
  broken(): void {
    this.grant = undefined;
    this.wasBroken = this.askedAt !== undefined;
    this.wake();
  }

  /** Leaves without waiting for the answer to the request under way, which is taken back. */
  abandon(): void {
    this.isAbandoned = true;
    this.inDoubt ||= this.askedAt !== undefined;
    this.queue.leave(this);
  }

  /** Ends the pause, or the next one if there is none now. */
  wake(): void {
    this.isAwake = this.heapIndex === -1;
    if (this.isAwake) return;
    this.context.timers.clear(this);
    this.goOn();
  }

  /** Asks again after a pause. */
  pause(ms: number): void {
    const { timers, clock } = this.context;
    if (!this.isAwake) timers.set(this, later(clock.monotonic(), ms));
    else {
      this.isAwake = false;
      this.goOn();
    }
  }

  fire(): void {
    this.goOn();
  }

  /** Asks for the caller at the head, if nothing has been brought meanwhile. */
  goOn(): void {
    if (this.grant !== undefined) endOverdue(this, this.context.clock.monotonic());
    const { head } = this;
    if (head === undefined) this.queue.leave(this);
    else if (!this.deliverPushed(head)) this.ask(head);
  }

  private ask(head: Waiter): void {
    const { context, queue } = this;
    const { lease, leaseTime } = head;
    const sentAt = context.leases.sendingAt();
    this.askedLease = lease;
    this.askedAt = sentAt;
    this.isHeldBack = false;
    const answer = context.session.ask({
      key: queue.key,
      owner: this.owner,
      lease,
      isRenewed: leaseTime === undefined,
      claimLease: lease < CLAIM_LEASE ? lease : CLAIM_LEASE,
      wait: true,
      callers: queue.countAt(this),
      tokens: queue.tokensFor(head, this.contended),
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
          this.failed(unusableReply(error));
        }
      },
      (error) => {
        if (!this.isAbandoned) this.failed(storeFailure(error));
      },
    );
  }

  private replied(sentAt: MonotonicMs, reply: AskReply, askedFor: Waiter): void {
    const { queue } = this;
    this.askedAt = undefined;
    this.answered = true;
    this.failures = 0;
    this.isQueueing = reply.outcome === 'queued' || reply.outcome === 'busy';
    if (!this.isQueueing) queue.onReply(this, undefined, false);
    if (reply.outcome === 'granted') this.granted(sentAt, reply);
    else if (reply.outcome === 'cancelled') queue.leave(this);
    else if (reply.outcome === 'conflict') {
      // Whoever has the ticket by now may have nobody to differ from any more, and is asked for anew. But who was asked for
      // is told, if it waits: else tickets that pass from caller to caller while they ask would ask again and again. One
      // that nobody needs any more tells nobody: its caller has another.
      if (this.head !== undefined) queue.onConflict(askedFor, reply.limit);
      queue.leave(this);
    } else {
      this.contended = true;
      this.wasBroken = false;
      queue.onReply(this, reply.holderLeaseLeft, true);
      this.stayQueued(reply.holderLeaseLeft);
    }
  }

  private granted(sentAt: MonotonicMs, grant: GrantReply): void {
    const { context, queue } = this;
    // Places have moved on to others meanwhile: the grant is for whoever wants that lease.
    if (this.head !== undefined && this.head.lease !== this.askedLease) queue.exchange(this);
    const { head, wasBroken } = this;
    this.wasBroken = false;
    // Granted for a caller who is gone, for another lease, or no longer: given back, and asked for anew.
    if (head?.lease !== this.askedLease || wasBroken) {
      queue.leave(this);
      return;
    }
    if (context.leases.mayBeOver(sentAt, head.lease)) {
      queue.onLateGrant(this, head, context.clock.monotonic() - sentAt);
      return;
    }
    this.deliver(head, grant, sentAt, head.lease, false);
  }

  private failed(error: LockStoreError): void {
    if (error.inDoubt) {
      this.inDoubt = true;
      this.shortestInDoubt = Math.min(this.shortestInDoubt, this.askedLease);
    }
    this.askedAt = undefined;
    this.wasBroken = false;
    this.queue.onError(error);
    this.failures += 1;
    // Asking again can't help with the others.
    if (error.retryable) this.pause(pauseBefore(this.failures));
    else this.queue.leave(this, error);
  }

  private stayQueued(holderLeaseLeft: number | undefined): void {
    const expiry = (holderLeaseLeft ?? Infinity) + 1 + Math.random() * POLL_JITTER;
    if (this.head?.lease === this.askedLease) this.pause(Math.min(expiry, POLL));
    else this.goOn();
  }

  /** P12: the woken process holds the lock already; it starts at once and claims in the same moment. */
  private deliverPushed(head: Waiter): boolean {
    const { grant } = this;
    if (grant === undefined) return false;
    this.grant = undefined;
    // Asking claims a grant that is there already, with the lease that is asked for. If such a request was lost, nobody
    // knows how long the lease is: asking again tells.
    if (this.shortestInDoubt < grant.lease || !Number.isSafeInteger(grant.token)) return false;
    const lease = Math.min(grant.lease, head.lease);
    // P13: not surely held any longer, so it is not started but asked for again.
    if (this.context.leases.mayBeOver(grant.startedAt, lease)) return false;
    this.deliver(head, grant, grant.startedAt, lease, true);
    return true;
  }

  private deliver(
    head: Waiter,
    { token, since, tokens, othersWait, turnFrom, degraded = false }: GrantReply,
    startedAt: MonotonicMs,
    lease: number,
    unclaimed: boolean,
  ): void {
    const deadline = this.context.leases.deadlineOf(startedAt, lease);
    const grant = { token, since, startedAt, deadline, unclaimed, degraded, tokens, othersWait, turnFrom };
    this.queue.deliver(this, head, grant);
  }
}
