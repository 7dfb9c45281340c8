import { inspect } from 'node:util';
import { later } from '../common/clock.js';
import { detachedContext } from '../common/detached-context.js';
import type { Linked } from '../common/linked-queue.js';
import { promiseOf } from '../common/deferred.js';
import type { LockHandle, ReleaseOutcome } from '../model/lock-handle.js';
import { ELECTION_OPERATION } from '../model/lock-kind.js';
import { type ErrorOrigin, type LockLostError, LockNotHeldError, originate } from '../model/lock.errors.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import { checkReceiver, checkTime } from '../model/option-checks.js';
import type { LockStoreError, MonotonicMs, WallClockMs } from '../stores/port/lock-store.js';
import { type ExtensionContext, extendOrThrow } from './extend.js';
import type { CallSite } from './report/call-site.js';
import type { EngineLog } from './report/event-hub.js';
import { traceHold } from './report/traces.js';
import { heldKeys, runInScope, type Scope, type ScopeOwner } from './scope.js';
import type { Ticket, TicketUser } from './ticket.js';
import type { Released } from './tickets.js';
import { LATEST_OUTCOME, LONG_WAIT } from './time-limits.js';
import { type EndOfWait, Wait } from './wait.js';

/** The parts of the engine that holds use. */
export interface HoldContext extends ExtensionContext, ErrorOrigin {
  /** The name of the module instance. */
  readonly instance: string | undefined;
  readonly log: EngineLog;
}

/** The options of one of several keys, once the store has replied to a request for others of them. */
export interface PartOptions extends ResolvedLockOptions {
  /** How many keys are acquired together. */
  readonly partOf: number;
  /** The first of them that is known to be held. */
  readonly heldKey: string | undefined;
  /** Why an earlier attempt for all of them failed. */
  readonly lastFailure: LockStoreError | undefined;
}

/** Where a call waits for its lock. */
export interface WaitingPlace {
  /** The wait has ended without the lock: the call has to be refused. */
  leave(hold: Hold, why: EndOfWait): void;
  /** A call without a limit has waited for long. */
  onLongWait(hold: Hold): void;
}

/**
 * A call, and the hold that it becomes: the handle that users get. The outermost hold of a key uses a ticket; an inner one
 * (re-entry) uses that of the hold around it.
 *
 * | state of the hold | event                                   | what follows                                                 |
 * | ----------------- | --------------------------------------- | ------------------------------------------------------------ |
 * | waiting           | a ticket is granted, or passes to it    | held                                                         |
 * |                   | timeout, abort, shutdown, store refuses | refused: the call throws                                     |
 * | held              | `release()`, its scope ends             | released; the ticket is left when no inner hold uses it      |
 * |                   | its ticket is lost                      | lost: `signal` aborts, `assertHeld()` throws                 |
 * | released          | its reply shows that it was lost before | lost, for `onLost`                                           |
 *
 * `isSettled` tells the end of the wait, `isReleased` and `lost` the end of the hold.
 */
export class Hold
  extends Wait<Hold, ResolvedLockOptions & Partial<PartOptions>>
  implements ScopeOwner, TicketUser, Linked<Hold>
{
  previous: Hold | undefined;
  next: Hold | undefined;

  readonly limit: number;
  readonly permits: number;
  readonly operation: string;
  readonly label: string | undefined;
  /** The lease to request, ms. */
  readonly lease: number;
  /** Whether it shares no ticket with the calls before it: `fair`, or a `leaseTime`. */
  readonly needsOwnTicket: boolean;

  // While it waits

  place: WaitingPlace | undefined;
  /** Whether its `queued` event was emitted. */
  isQueuedReported = false;
  /** Whether it pauses between two attempts instead of waiting its turn (`retry`). */
  isRetrying = false;
  /** How long the store's last reply took, ms, if it was a grant that came too late. */
  lateAfter: number | undefined;
  /** How many grants came later than its own `leaseTime` allows. */
  lateGrants = 0;

  // Once it is held

  declare ticket: Ticket;
  declare token: number;
  declare heldFrom: MonotonicMs;
  declare acquiredAt: WallClockMs;
  private isReleased = false;
  private lost: LockLostError | undefined;
  private outcome: Released | undefined;
  private site: CallSite | undefined;
  private controller: AbortController | undefined;
  private reentries: ReentryQueue | undefined;

  /**
   * @param scope the scope of the calling code
   * @param joinedAt when it called: later callers of all processes come after it
   * @param outer the hold that the call re-enters
   */
  constructor(
    readonly engine: HoldContext,
    readonly key: string,
    options: ResolvedLockOptions | PartOptions,
    startedAt: MonotonicMs,
    private readonly scope: Scope | undefined,
    readonly joinedAt: MonotonicMs,
    private readonly outer?: Hold,
  ) {
    super(engine.timers, startedAt, options);
    const { limit, permits, operation, label, leaseTime, fair } = options;
    this.limit = limit;
    this.permits = permits;
    this.operation = operation;
    this.label = label;
    this.lease = leaseTime ?? engine.watchdogTimeout;
    this.needsOwnTicket = fair || leaseTime !== undefined;
  }

  // A call

  get fair(): boolean {
    return this.options.fair;
  }

  get leaseTime(): number | undefined {
    return this.options.leaseTime;
  }

  get maxWaiting(): number {
    return this.options.maxWaiting;
  }

  get reentrant(): boolean {
    return this.options.reentrant;
  }

  get skips(): boolean {
    return this.options.skips;
  }

  get onWaiting(): (() => void) | undefined {
    return this.options.onWaiting;
  }

  get partOf(): number | undefined {
    return this.options.partOf;
  }

  get heldKey(): string | undefined {
    return this.options.heldKey;
  }

  /** Keys of the locks that the calling code holds. */
  get holding(): readonly string[] {
    return heldKeys(this.engine, this.scope);
  }

  override begin(): void {
    super.begin();
    // A candidate of an election waits for as long as another one leads.
    if (this.waitTime !== Infinity || this.isSettled || this.operation === ELECTION_OPERATION) return;
    this.timers.set(this, later(this.engine.clock.monotonic(), LONG_WAIT));
  }

  override prolong(now: MonotonicMs): void {
    super.prolong(now);
    const { startedAt, waitTime, joinedAt } = this;
    // One of several keys, requested when the time was over already: its outcome must not be later still.
    if (joinedAt >= startedAt + waitTime) this.timers.set(this, later(startedAt, waitTime + LATEST_OUTCOME));
  }

  override aborted(): void {
    this.place?.leave(this, 'aborted');
  }

  override fire(): void {
    if (this.waitTime === Infinity) this.place?.onLongWait(this);
    else this.place?.leave(this, 'timeout');
  }

  /** The hold begins. */
  start(ticket: Ticket, token: number, from: MonotonicMs): void {
    if (this.isSettled) return;
    this.ticket = ticket;
    this.token = token;
    this.heldFrom = from;
    this.acquiredAt = ticket.wallClockAt(from);
    if (this.outer === undefined) {
      ticket.addHolder(this);
      this.keepFor(this.options.holdAtLeast);
    }
    // Before listeners are notified: one that aborts the wait then comes too late.
    this.succeed(this);
  }

  // A hold

  /** The queue of branches of this hold's scope that re-enter it. */
  get reentry(): ReentryQueue {
    this.reentries ??= new ReentryQueue();
    return this.reentries;
  }

  /** Same interface as `MultiHold.holdOf`. */
  holdOf(key: string): Hold | undefined {
    return key === this.key ? this : undefined;
  }

  /** The caller receives the handle and must release it. */
  open(site: CallSite): void {
    this.site = site;
  }

  /** Of the hold that keeps the lock: this one, or one inside it if this one has ended. */
  get opened(): CallSite | undefined {
    return this.isReleased ? this.reentries?.first?.opened : this.site;
  }

  /** The lock was granted just now and stays held for at least this many ms (`holdAtLeast`). */
  keepFor(ms: number): void {
    if (ms > 0) this.ticket.keepUntil(later(this.engine.clock.monotonic(), ms));
  }

  get keys(): readonly string[] {
    return [this.key];
  }

  get tokens(): ReadonlyMap<string, number> {
    return new Map([[this.key, this.token]]);
  }

  get local(): boolean {
    return this.ticket.local;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = this.engine.reporter.signalController(() => void this.expire());
      this.expire();
      if (this.lost !== undefined) this.controller.abort(this.lost);
    }
    return this.controller.signal;
  }

  get isHeld(): boolean {
    return !this.isOver && this.engine.tickets.isSure(this.ticket);
  }

  /** Released or lost. */
  get isOver(): boolean {
    if (this.isReleased || this.lost !== undefined) return true;
    return !this.ticket.isGood(this.engine.clock.monotonic());
  }

  get remaining(): number {
    return this.isOver ? 0 : this.engine.tickets.remaining(this.ticket);
  }

  /** Ends the hold if the lease has run out; returns the loss, if it was lost before it was released. */
  expire(): LockLostError | undefined {
    if (!this.isReleased && this.lost === undefined) {
      this.engine.tickets.expire(this.ticket, this.engine.clock.monotonic());
    }
    return this.lost;
  }

  assertHeld(): void {
    this.assertGood();
    const { tickets } = this.engine;
    if (tickets.isSure(this.ticket)) return;
    tickets.verifyOne(this.ticket);
    const error = new LockNotHeldError(
      `The lock "${this.key}" may have expired: the wall clock of this machine jumped ahead, as after a suspension. The store is being asked to confirm it; check again in a moment, or stop the work.`,
      { keys: this.keys },
    );
    throw originate(error, this.engine);
  }

  /** Throws if the hold was lost or released. */
  assertGood(): void {
    const lost = this.expire();
    if (lost !== undefined) throw originate(lost, this.engine);
    if (this.isReleased) {
      const error = new LockNotHeldError(
        `The lock "${this.key}" was released before this call. Do the work before release(), or acquire the lock again.`,
        { keys: this.keys },
      );
      throw originate(error, this.engine);
    }
  }

  async extend(ms: number): Promise<void> {
    checkReceiver(this, 'extend', 'handle', 'handle');
    const lease = checkTime('extend()', 'ms', ms, { min: 1 });
    this.assertGood();
    await extendOrThrow(this.engine, [this], lease);
    this.assertGood();
  }

  async run<T>(fn: (lock: LockHandle) => Promise<T> | T): Promise<T> {
    checkReceiver(this, 'run', 'handle', 'handle');
    this.assertHeld();
    return await traceHold(this.engine.instance, this, () => runInScope(this, fn));
  }

  release(): Promise<ReleaseOutcome> {
    checkReceiver(this, 'release', 'handle', 'handle');
    // Called by a listener of the `released` event, before there is an outcome.
    if (this.isReleased && this.outcome === undefined) return Promise.resolve().then(() => this.release());
    const outcome = this.end(false);
    return typeof outcome === 'string' ? Promise.resolve(outcome) : promiseOf(outcome);
  }

  /**
   * Releases the hold without waiting for the reply. Resolves when the request has been sent; undefined if it has
   * been sent already, or none is needed.
   */
  sendRelease(): Promise<unknown> | undefined {
    const outcome = this.end(true);
    if (outcome === 'released' || outcome === 'kept') return undefined;
    const { key, ticket, engine } = this;
    return ticket.lingering?.then(() => engine.session.whenSent?.(key)) ?? engine.session.whenSent?.(key);
  }

  /** @param mayLinger whether the lock may be released a moment later */
  private end(mayLinger: boolean): Released {
    if (this.outcome !== undefined || this.isReleased) return this.outcome ?? 'released';
    this.expire();
    this.isReleased = true;
    this.reentries?.dismiss();
    // Holds inside keep the lock, as in a lock of Java that is free when its count is zero.
    const isKept = this.reentries?.first !== undefined;
    this.outcome = isKept ? (this.lost === undefined ? 'kept' : 'expired') : this.leaveTicket(mayLinger);
    return this.outcome;
  }

  /** Neither this hold nor one inside it needs the lock any more. */
  private leaveTicket(mayLinger: boolean): Released {
    const { outer, ticket, engine } = this;
    if (outer !== undefined) return outer.leaveInside(this);
    const now = engine.clock.monotonic();
    if (this.lost === undefined && ticket.isGood(now))
      return engine.tickets.release(ticket, this, now, mayLinger);
    engine.tickets.releaseAbandoned(ticket, this);
    return 'expired';
  }

  /** A hold inside this one has ended. Returns its outcome: that of the lock, if only that hold kept it. */
  private leaveInside(inner: Hold): Released {
    const { reentry } = this;
    const isLost = inner.lost !== undefined || !inner.ticket.isGood(this.engine.clock.monotonic());
    if (reentry.leave(inner) && this.isReleased) return this.leaveTicket(true);
    reentry.admitNext(this);
    return isLost ? 'expired' : 'released';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** What logs and JSON show of the hold. */
  toJSON(): object {
    const { key, token, isHeld, remaining, acquiredAt } = this;
    return { key, token, isHeld, remaining, acquiredAt };
  }

  [inspect.custom](): string {
    const { key, token, isHeld, remaining } = this;
    return `LockHandle ${inspect({ key, token, isHeld, remaining })}`;
  }

  /** The ticket was lost under this hold, or under work that had re-entered it and still runs. */
  loseTo(error: LockLostError): void {
    if (!this.isReleased && this.lost === undefined) this.wasLost(error);
    this.reentries?.lose(error);
  }

  /** Only the reply to its release showed the loss. */
  wasLost(error: LockLostError): void {
    this.lost = error;
    const { controller } = this;
    if (controller !== undefined) detachedContext.run(() => controller.abort(error));
  }

  get lostError(): LockLostError | undefined {
    return this.lost;
  }
}

/**
 * Admits branches that re-enter one hold: one at a time and in order, except readers, which may be inside
 * together. Every hold has its own queue, so that a branch inside may re-enter further.
 */
class ReentryQueue {
  private readonly inside: Hold[] = [];
  private waiting: Set<Hold> | undefined;

  /** The oldest hold inside. */
  get first(): Hold | undefined {
    return this.inside[0];
  }

  has(inner: Hold): boolean {
    return this.inside.includes(inner);
  }

  /** The call becomes a hold inside `outer` if there is room for one; otherwise it waits for its turn. */
  enter(call: Hold, outer: Hold): void {
    const isFree = (this.waiting?.size ?? 0) === 0 && this.hasRoom(call.limit);
    if (isFree) this.admit(call, outer);
    else {
      (this.waiting ??= new Set()).add(call);
      call.begin();
    }
  }

  /** The wait has ended without a hold. */
  remove(call: Hold, outer: Hold): void {
    this.waiting?.delete(call);
    this.admitNext(outer);
  }

  /** Returns whether no hold is left inside. */
  leave(inner: Hold): boolean {
    const index = this.inside.indexOf(inner);
    if (index === -1) return false;
    this.inside.splice(index, 1);
    return this.inside.length === 0;
  }

  /** The ticket was lost: inner holds are lost, too. */
  lose(error: LockLostError): void {
    for (const inner of [...this.inside]) inner.loseTo(error);
    this.dismiss();
  }

  /** The outer hold has ended: waiting branches have to acquire the lock anew. */
  dismiss(): void {
    const { waiting } = this;
    this.waiting = undefined;
    for (const call of waiting ?? []) call.succeed(call);
  }

  admitNext(outer: Hold): void {
    for (const call of this.waiting ?? []) {
      if (!this.hasRoom(call.limit)) return;
      this.waiting?.delete(call);
      this.admit(call, outer);
    }
  }

  private hasRoom(limit: number): boolean {
    return this.inside.length === 0 || (limit === Infinity && this.inside[0]?.limit === Infinity);
  }

  private admit(call: Hold, outer: Hold): void {
    this.inside.push(call);
    call.start(outer.ticket, outer.token, outer.heldFrom);
  }
}
