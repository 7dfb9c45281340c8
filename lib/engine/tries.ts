import { Deferred } from '../common/deferred.js';
import type { ResolvedRetry } from '../model/lock-retry.options.js';
import {
  type AcquireReply,
  type Grant,
  LockStoreError,
  type MonotonicMs,
} from '../stores/port/lock-store.js';
import { storeFailure, unusableReply } from '../stores/port/store-failure.js';
import type { Hold, WaitingPlace } from './hold.js';
import { withHolder } from './holder-names.js';
import type { Line, LineContext } from './line.js';
import { isLeaseTooShort, type LeaseLeft } from './report/lock-reporter.js';
import { checkToken, Ticket } from './ticket.js';
import { ANSWER_GRACE, RECONNECT, SILENCE } from './time-limits.js';
import type { EndOfWait } from './wait.js';

/** The parts of the engine that attempts use. */
export interface TryContext extends LineContext {
  /** Whether `shutdownTimeout` has passed, so that no call may wait without limit. */
  readonly isShutdownOverdue: boolean;
}

/** Why an attempt failed. */
type Refusal =
  | { readonly because: 'held'; readonly holderLeaseLeft: LeaseLeft | undefined }
  | { readonly because: 'unavailable'; readonly failure: LockStoreError }
  /** Granted too late, after this many ms. */
  | { readonly because: 'late'; readonly took: number };

/** Whether the store has rejected the request, so that repeating it can't help. */
function isRejected(refusal: Refusal): boolean {
  return refusal.because === 'unavailable' && !refusal.failure.retryable;
}

/** Why one of several keys was not acquired in the attempt for all of them: its caller may wait for it. */
export class Missed extends Error {
  /** @param failure of the store; undefined if the key is held */
  constructor(
    readonly isHeld: boolean,
    readonly failure?: LockStoreError,
  ) {
    super('the key was not acquired');
  }
}

/**
 * A call that does not wait its turn: single attempts with pauses between them (`retry`), or only one, for
 * `waitTime: 0`, a wait that shutdown no longer allows, a call that may not wait (`maxWaiting`), and several keys.
 */
export class Tries implements WaitingPlace {
  /** Of the pending request. */
  private ticket: Ticket | undefined;
  /** Whether the pending request is being cancelled, though the call may not have its outcome yet. */
  private isCancelled = false;
  /** When the last request was sent. */
  private sentAt = 0 as MonotonicMs;
  private tries = 0;
  /** Of the last finished attempt. */
  private refusal: Refusal | undefined;
  /** The pause between two attempts; resolved to end it. */
  private pausing: Deferred<void> | undefined;
  /** Whether there is no time for another attempt. */
  private isLastTry = false;
  private isOver = false;
  /** Resolves when the call has its outcome and no request is pending. */
  private over = Promise.resolve();

  /**
   * @param retry undefined for a single attempt
   * @param isOneOfSeveral whether it is the attempt for one of several keys: its errors are not reported, and it fails
   *   with `Missed` if its caller may wait for the key instead
   */
  constructor(
    private readonly engine: TryContext,
    private readonly line: Line,
    private readonly hold: Hold,
    private readonly retry: ResolvedRetry | undefined,
    private readonly isOneOfSeveral = false,
  ) {}

  start(): void {
    const { hold, line, retry, engine } = this;
    hold.place = this;
    line.trying.join(hold);
    // The single request of `waitTime: 0` has no time limit.
    if (retry === undefined && hold.waitTime === 0) hold.listen();
    else hold.begin();
    this.over = engine.backgroundRetry.track(this.run());
  }

  leave(_: Hold, why: EndOfWait): void {
    const { hold, engine, ticket } = this;
    const isPart = hold.partOf !== undefined;
    if (why === 'aborted') this.end(hold.abortReason);
    else if (why === 'closed') this.end(engine.reporter.closed(hold.key));
    else if (isPart && ticket !== undefined) void this.cancel(ticket);
    // The other keys are being released, so another attempt would be useless.
    else if (isPart || hold.prolonged || (this.isLastTry && this.pausing !== undefined)) this.fail();
    else {
      // For the reply to the attempt that is pending, or that begins now.
      hold.prolong(engine.clock.monotonic());
      this.pausing?.resolve();
    }
  }

  onLongWait(hold: Hold): void {
    this.line.onLongWait(hold);
  }

  /** Never rejects. */
  private async run(): Promise<void> {
    const { engine, hold } = this;
    while (!hold.isSettled && !this.isOver) {
      const triedAt = engine.clock.monotonic();
      const refusal = await this.attempt();
      if (refusal !== undefined) await this.refused(refusal, engine.clock.monotonic() - triedAt);
    }
    hold.isRetrying = false;
    this.line.endTry(hold);
  }

  /**
   * One request, and a second one under a new owner id if the store cancelled the first or its grant was broken by force
   * before the reply arrived. Returns undefined if the call has its outcome, or the request was cancelled.
   */
  private async attempt(): Promise<Refusal | undefined> {
    const { engine, hold, line } = this;
    const { key, limit } = hold;
    let ticket: Ticket | undefined;
    try {
      for (let tries = 1; ; tries += 1) {
        // This process holds the lock, or the store has its callers wait.
        if (line.keepsOut(limit)) return { because: 'held', holderLeaseLeft: line.holderLeaseLeft };
        const isLeaving = line.leaving.size > 0;
        ticket = new Ticket(key, engine.nextOwner(), line, limit, hold.permits, undefined, false, true);
        const reply = await this.send(ticket);
        this.ticket = undefined;
        ticket.askedAt = undefined;
        if (this.isCancelled) return undefined;
        if (reply instanceof LockStoreError) {
          const withdrawn = this.withdraw(ticket, reply.inDoubt, reply.inDoubt);
          // The connection turned out to be dead, as one that a firewall has forgotten while it was idle.
          const mayRepeat = reply.unreachable && tries === 1 && hold.options.retry === undefined;
          const isRepeated = mayRepeat && (await isBack(engine, withdrawn));
          if (hold.isSettled || this.isOver) return undefined;
          if (isRepeated) continue;
          return { because: 'unavailable', failure: reply };
        }
        if (reply.outcome === 'granted' && !ticket.wasBroken) return await this.granted(ticket, reply);
        await this.withdraw(ticket, reply.outcome === 'granted', false);
        if (reply.outcome === 'conflict') {
          hold.fail(engine.reporter.disagreement(hold, reply.limit));
          return undefined;
        }
        const isHeld = reply.outcome === 'busy' || reply.outcome === 'queued';
        if (isHeld && isLeaving && tries === 1) await engine.timers.within(SILENCE, line.idle());
        else if (isHeld) return { because: 'held', holderLeaseLeft: engine.leaseLeft(reply.holderLeaseLeft) };
        if (hold.isSettled) return undefined;
        if (tries > 1) {
          // The reply does not say that others hold the lock, so the error must not say so.
          const details = { inDoubt: false, retryable: true };
          return { because: 'unavailable', failure: new LockStoreError('it cancelled the request', details) };
        }
      }
    } catch (error) {
      // A custom store may reply anything.
      if (ticket?.state === 'asking') void this.withdraw(ticket, true, true);
      return { because: 'unavailable', failure: unusableReply(error) };
    }
  }

  /** Resolves with the reply or the failure. */
  private async send(ticket: Ticket): Promise<AcquireReply | LockStoreError> {
    const { key, lease, options, limit, permits, label } = this.hold;
    const { session, storeReporter, tickets } = this.engine;
    this.sentAt = ticket.askedAt = tickets.sendingAt();
    this.ticket = ticket;
    tickets.byOwner.set(ticket.owner, ticket);
    this.line.releaseIdle();
    try {
      const reply = await session.acquire({
        key,
        owner: ticket.owner,
        lease,
        isRenewed: options.leaseTime === undefined,
        claimLease: lease,
        wait: false,
        callers: 1,
        tokens: 1,
        contended: false,
        limit,
        permits,
        label,
      });
      storeReporter.answered();
      return reply;
    } catch (error) {
      return storeFailure(error);
    }
  }

  /** The ticket was not used. Resolves with whether nothing of it is left at the store. */
  private withdraw(ticket: Ticket, mayBeStored: boolean, inDoubt: boolean): Promise<boolean> {
    const { key, owner } = ticket;
    const { tickets } = this.engine;
    ticket.state = 'gone';
    tickets.byOwner.delete(owner);
    return mayBeStored ? tickets.withdraw(key, owner, inDoubt) : Promise.resolve(false);
  }

  /** The call acquires the lock, unless it is too late. */
  private async granted(ticket: Ticket, reply: Grant): Promise<Refusal | undefined> {
    const { engine, hold, line, sentAt } = this;
    const { tickets, reporter } = engine;
    const token = checkToken(reply.token);
    if (!tickets.mayBeOver(sentAt, hold.lease) && !engine.isClosing && !hold.isSettled) {
      const { since, local = false } = reply;
      tickets.granted(ticket, { token, since, local }, sentAt, hold.lease, hold.options.leaseTime, false);
      hold.start(ticket, token, sentAt);
      if (engine.hub.observed) reporter.granted(hold, token);
      if (hold.limit === 1) line.adopt(ticket);
      return undefined;
    }
    const took = engine.clock.monotonic() - sentAt;
    // Set before the withdrawal, since the wait may end during it.
    hold.lateAfter = took;
    await this.withdraw(ticket, true, false);
    if (engine.isClosing) hold.fail(reporter.closed(hold.key));
    return hold.isSettled ? undefined : { because: 'late', took };
  }

  /** @param took how long the attempt took, ms */
  private async refused(refusal: Refusal, took: number): Promise<void> {
    if (this.hold.isSettled) return;
    this.tries += 1;
    const { hold, engine, line, retry, refusal: before } = this;
    this.refusal = refusal;
    if (refusal.because !== 'late') hold.lateAfter = undefined;
    if (retry === undefined) {
      this.onlyAttemptRefused(refusal);
      return;
    }
    const mustNotWait = !hold.isRetrying && line.countWaiting >= hold.maxWaiting;
    if (mustNotWait && refusal.because === 'held') {
      this.end(engine.reporter.queueFull(hold, line.countWaiting));
      return;
    }
    if (!mustNotWait) hold.isRetrying = true;
    // Every further grant would also be too late for its own `leaseTime`.
    const isLateAgain =
      refusal.because === 'late' && before?.because === 'late' && isLeaseTooShort(hold, refusal.took);
    const isLast = this.tries >= retry.maxAttempts || hold.prolonged;
    if (mustNotWait || isLateAgain || isRejected(refusal) || isLast) {
      this.fail();
      return;
    }
    hold.onWaiting?.();
    if (refusal.because === 'unavailable') engine.storeReporter.waitFailed(refusal.failure);
    await this.pause(retry.backoff.pauseAfter(this.tries), took);
  }

  private onlyAttemptRefused(refusal: Refusal): void {
    const { hold, isOneOfSeveral, tries } = this;
    // Granted too late, usually because this process was stopped, which does not predict the next request.
    if (refusal.because === 'late' && tries === 1) return;
    const mayWait = isOneOfSeveral && hold.waitTime !== 0 && !isRejected(refusal);
    if (!mayWait) this.fail();
    else if (refusal.because === 'unavailable') this.end(new Missed(false, refusal.failure));
    else this.end(new Missed(refusal.because === 'held'));
  }

  private async pause(ms: number, took: number): Promise<void> {
    const { hold, engine } = this;
    const left = hold.startedAt + hold.waitTime - engine.clock.monotonic();
    // The last attempt begins in time for its reply if replies take longer than an outcome may be late.
    const isCut = !this.isLastTry && took > ANSWER_GRACE / 2 && left - took < ms;
    if (isCut) this.isLastTry = true;
    this.pausing = new Deferred<void>();
    await engine.timers.within(isCut ? left - took : ms, this.pausing.promise);
    this.pausing = undefined;
  }

  /** Cancels the pending request before the call gets the outcome. */
  private async cancel(ticket: Ticket): Promise<void> {
    const { hold, engine } = this;
    this.isOver = this.isCancelled = true;
    const error = this.failure();
    hold.stop();
    await engine.timers.within(ANSWER_GRACE, this.withdraw(ticket, true, true));
    this.end(error);
  }

  private fail(): void {
    const error = this.failure();
    const named = this.isOneOfSeveral ? undefined : withHolder(this.engine, this.hold, error);
    if (named === undefined) {
      this.end(error);
      return;
    }
    this.isOver = true;
    this.hold.stop();
    void named.then((outcome) => {
      this.end(outcome);
    });
  }

  /** B11: the last reply decides. */
  private failure(): Error {
    const { hold, engine, refusal, tries } = this;
    const { reporter } = engine;
    const now = engine.clock.monotonic();
    const isHeldByOthers = this.ticket?.othersAreFirst === true;
    if (!isHeldByOthers && hold.lateAfter !== undefined) return reporter.lateGrant(hold, hold.lateAfter);
    if (refusal?.because === 'held') return this.heldError(refusal.holderLeaseLeft);
    if (isHeldByOthers) return reporter.triesTimedOut(hold, undefined, tries + 1);
    const isSilent = now - this.sentAt > SILENCE;
    if (hold.partOf !== undefined && refusal === undefined && !isSilent) return reporter.outOfTime(hold);
    const failure = refusal?.because === 'unavailable' ? refusal.failure : hold.options.lastFailure;
    return reporter.unavailable(hold, failure, hold.waitTime === 0 ? undefined : now - hold.startedAt);
  }

  private heldError(holderLeaseLeft: LeaseLeft | undefined): Error {
    const { hold, engine, line, retry, tries } = this;
    const { reporter } = engine;
    const { key, waitTime } = hold;
    const holder = line.ownHolder;
    if (retry !== undefined) return reporter.triesTimedOut(hold, holderLeaseLeft, tries, holder);
    if (waitTime === 0) return reporter.timedOut(hold, holderLeaseLeft, holder);
    return engine.isShutdownOverdue && waitTime === Infinity
      ? reporter.closed(key)
      : reporter.queueFull(hold, line.countWaiting);
  }

  private end(error: unknown): void {
    const { hold, engine, isOneOfSeveral, line } = this;
    hold.isRetrying = false;
    // The store may still grant the lock to the pending request.
    if (line.trying.has(hold)) line.follow(this.over);
    if (isOneOfSeveral) hold.fail(error);
    else engine.reporter.refuse(hold, error);
    this.pausing?.resolve();
  }
}

/** Whether the withdrawal is confirmed soon, which takes a new connection. */
async function isBack(engine: TryContext, withdrawn: Promise<boolean>): Promise<boolean> {
  let isConfirmed = false;
  await engine.timers.within(
    RECONNECT,
    withdrawn.then((done) => (isConfirmed = done)),
  );
  return isConfirmed;
}
