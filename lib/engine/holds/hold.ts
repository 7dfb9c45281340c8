import { inspect } from 'node:util';
import { later } from '../../common/clock.js';
import { type Pending, promiseOf } from '../../common/deferred.js';
import type { TimerQueue } from '../../common/timer-queue.js';
import { detachedContext } from '../../common/detached-context.js';
import type { LockHandle, ReleaseOutcome } from '../../model/lock-handle.js';
import { type LockLostError, LockNotHeldError, originate } from '../../model/lock.errors.js';
import { checkReceiver, checkTime } from '../../model/option-checks.js';
import type { MonotonicMs, WallClockMs } from '../../stores/port/lock-store.js';
import type { CallSite } from '../report/call-site.js';
import type { EngineLog } from '../report/event-hub.js';
import type { LeaseContext } from '../leases/leases.js';
import type { Deadline } from './deadline.js';
import { EXPIRED, KEPT, type Lease, type LeaseHolder, RELEASED } from '../leases/lease.js';
import { extendOrThrow } from './extend.js';
import { runInScope, type ScopeOwner } from './scope.js';
import { traceHold } from '../report/traces.js';

/** The parts of the engine that holds use. */
export interface HoldContext extends LeaseContext {
  /** The name of the module instance. */
  readonly instance: string | undefined;
  readonly log: EngineLog;
  readonly timers: TimerQueue;
}

/** A hold as the user sees it. The outermost one uses a lease, an inner one (re-entry) the hold around it. */
export class Hold implements ScopeOwner, LeaseHolder {
  readonly key: string;
  readonly acquiredAt: WallClockMs;

  private site: CallSite | undefined;
  private released = false;
  private outcome: Pending<ReleaseOutcome> | undefined;
  private reentries: ReentryQueue | undefined;
  private lost: LockLostError | undefined;
  private controller: AbortController | undefined;

  constructor(
    readonly engine: HoldContext,
    readonly lease: Lease,
    private readonly outer: Hold | undefined,
    readonly token: number,
    readonly heldFrom: MonotonicMs,
    readonly operation: string,
    readonly label: string | undefined,
    /** How many can hold the lock at once, as this hold's caller requested. */
    readonly limit = lease.limit,
  ) {
    this.key = lease.key;
    this.acquiredAt = lease.wallClockAt(heldFrom);
  }

  /** The queue of branches of this hold's scope that re-enter it. */
  get reentry(): ReentryQueue {
    this.reentries ??= new ReentryQueue(this);
    return this.reentries;
  }

  /** A hold inside this one, with the same token because it is the same acquisition. */
  inner(limit: number): Hold {
    const { engine, lease, token, heldFrom, operation, label } = this;
    return new Hold(engine, lease, this, token, heldFrom, operation, label, limit);
  }

  get permits(): number {
    return this.lease.permits;
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
    return this.released ? this.reentries?.first?.opened : this.site;
  }

  /** The lock was granted just now and stays held for at least this many ms (`holdAtLeast`). */
  keepFor(ms: number): void {
    if (ms > 0) this.lease.keepUntil(later(this.engine.clock.monotonic(), ms));
  }

  get keys(): readonly string[] {
    return [this.key];
  }

  get tokens(): ReadonlyMap<string, number> {
    return new Map([[this.key, this.token]]);
  }

  get local(): boolean {
    return this.lease.local;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = this.engine.reporter.signalController(this);
      const lost = this.lostError;
      if (lost !== undefined) this.controller.abort(lost);
    }
    return this.controller.signal;
  }

  get isHeld(): boolean {
    return !this.isOver && this.engine.leases.isSure(this.lease);
  }

  /** Released or lost. Reads the clock. */
  get isOver(): boolean {
    if (this.released || this.lost !== undefined) return true;
    return !this.engine.leases.isGood(this.lease);
  }

  get remaining(): number {
    return this.isOver ? 0 : this.engine.leases.remaining(this.lease);
  }

  /** The loss, if this hold was lost before it was released. */
  get lostError(): LockLostError | undefined {
    if (this.lost === undefined && !this.released && this.isOver) this.lost = this.lease.lostError;
    return this.lost;
  }

  assertHeld(): void {
    this.assertGood();
    if (this.engine.leases.isSure(this.lease)) return;
    const error = new LockNotHeldError(
      `The lock "${this.key}" may have expired: the wall clock of this machine jumped ahead, as after a suspension. The store is being asked to confirm it; check again in a moment, or stop the work.`,
      { keys: this.keys },
    );
    throw originate(error, this.engine);
  }

  /** Throws if the hold is known to be lost or released. */
  assertGood(): void {
    const lost = this.lostError;
    if (lost !== undefined) throw originate(lost, this.engine);
    if (this.released) {
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
    this.outcome ??= this.end();
    return promiseOf(this.outcome);
  }

  /**
   * Releases the hold without waiting for the reply. Resolves when the request has been sent; undefined if it has
   * been sent already, or none is needed.
   */
  sendRelease(): Promise<unknown> | undefined {
    this.outcome ??= this.end(true);
    if (this.outcome === RELEASED || this.outcome === KEPT) return undefined;
    const { key } = this;
    const { session } = this.engine;
    return this.lease.lingering?.then(() => session.whenSent?.(key)) ?? session.whenSent?.(key);
  }

  private end(mayLinger = false): Pending<ReleaseOutcome> {
    // Called by a listener of the `released` event, before there is an outcome.
    if (this.released) return Promise.resolve().then(() => this.release());
    if (!this.engine.leases.isGood(this.lease)) this.lost ??= this.lease.lostError;
    this.released = true;
    if (this.reentries?.outerEnded() === true) return this.lost === undefined ? KEPT : EXPIRED;
    return this.giveBack(mayLinger);
  }

  /** Neither this hold nor one inside it needs the lock any more. */
  private giveBack(mayLinger: boolean): Pending<ReleaseOutcome> {
    const { outer, lease } = this;
    if (outer !== undefined) {
      const outcome = outer.reentry.leave(this);
      if (outcome !== undefined) return outcome;
    }
    const { leases, clock } = this.engine;
    const now = clock.monotonic();
    if (this.lost !== undefined || !leases.isGood(lease, now)) {
      if (outer === undefined) leases.releaseAbandoned(lease, this);
      return EXPIRED;
    }
    return outer === undefined ? leases.release(lease, this, now, mayLinger) : RELEASED;
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

  /** The lease was lost under this hold, or under work that had re-entered it and still runs. */
  loseTo(error: LockLostError): void {
    if (!this.released && this.lost === undefined) {
      this.wasLost(error);
    }
    this.reentries?.lose(error);
  }

  /** The last hold inside this one has ended, after this one. */
  innerEnded(): Pending<ReleaseOutcome> | undefined {
    return this.released ? this.giveBack(true) : undefined;
  }

  /** Only the reply to its release showed the loss. */
  wasLost(error: LockLostError): void {
    this.lost = error;
    const { controller } = this;
    if (controller !== undefined) detachedContext.run(() => controller.abort(error));
  }
}

/**
 * Admits branches that re-enter one hold: one at a time and in order, except readers, which may be inside
 * together. Every hold has its own queue, so that a branch inside may re-enter further.
 */
class ReentryQueue {
  private readonly inside: Hold[] = [];
  /** Waiting branches, with their limits. */
  private waits: Map<Deadline<Hold | undefined>, number> | undefined;

  constructor(private readonly outer: Hold) {}

  /** The oldest hold inside. */
  get first(): Hold | undefined {
    return this.inside[0];
  }

  /** The inner hold, if there is room for one. */
  enter(limit: number): Hold | undefined {
    if (!this.hasRoom(limit) || (this.waits !== undefined && this.waits.size > 0)) return undefined;
    return this.admit(limit);
  }

  /** The wait ends with the inner hold, or with undefined when the outer hold ends. */
  queue(wait: Deadline<Hold | undefined>, limit: number): void {
    (this.waits ??= new Map()).set(wait, limit);
    wait.begin();
  }

  /** The wait has ended without a hold. */
  remove(wait: Deadline<Hold | undefined>): void {
    this.waits?.delete(wait);
    this.admitNext();
  }

  /** Returns the outcome of the release of the lock, if only this hold kept it. */
  leave(inner: Hold): Pending<ReleaseOutcome> | undefined {
    const index = this.inside.indexOf(inner);
    if (index === -1) return undefined;
    this.inside.splice(index, 1);
    if (this.inside.length === 0) {
      const outcome = this.outer.innerEnded();
      if (outcome !== undefined) return outcome;
    }
    this.admitNext();
    return undefined;
  }

  /** The lease was lost: inner holds are lost too, and waiting branches have to acquire the lock anew. */
  lose(error: LockLostError): void {
    for (const inner of [...this.inside]) inner.loseTo(error);
    this.acquireAnew();
  }

  /**
   * The outer hold ended: waiting branches have to acquire the lock anew. Returns whether holds inside keep the lock, as
   * in a lock of Java that is free when its count is zero.
   */
  outerEnded(): boolean {
    this.acquireAnew();
    return this.inside.length > 0;
  }

  private hasRoom(limit: number): boolean {
    return this.inside.length === 0 || (limit === Infinity && this.inside[0]?.limit === Infinity);
  }

  private admit(limit: number): Hold {
    const inner = this.outer.inner(limit);
    this.inside.push(inner);
    return inner;
  }

  private admitNext(): void {
    for (const [wait, limit] of this.waits ?? []) {
      if (!this.hasRoom(limit)) return;
      this.waits?.delete(wait);
      wait.succeed(this.admit(limit));
    }
  }

  private acquireAnew(): void {
    const waits = this.waits;
    this.waits = undefined;
    for (const wait of waits?.keys() ?? []) wait.succeed(undefined);
  }
}
