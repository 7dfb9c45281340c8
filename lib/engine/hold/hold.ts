import { inspect } from 'node:util';
import { LockLostError, LockNotHeldError, originate } from '../../model/lock.errors.js';
import type { LockHandle, ReleaseOutcome } from '../../model/lock-handle.js';
import { extendOrThrow } from './extend-in-time.js';
import { checkTime } from '../../model/option-checks.js';
import { later } from '../../common/clock.js';
import { promiseOf, type Pending } from '../../common/pending-reply.js';
import { EXPIRED, RELEASED, type Lease, type LeaseUser } from '../lease/lease.js';
import type { MonotonicMs, WallClockMs } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import type { CallSite } from '../events/call-site.js';
import { traceHold } from '../events/traces.js';
import { ReentryQueue, type ReentrantHold } from './reentry-queue.js';
import { runInScope, type ScopeOwner } from '../scope/scope.js';

/** What tells a hold from others, which may live on the same lease. */
type HoldFacts = Pick<Hold, 'token' | 'heldFrom' | 'name' | 'label'>;

/** A hold as the user sees it: the outermost one lives on a lease, an inner one (re-entry) on the hold around it. */
export class Hold implements ScopeOwner, ReentrantHold<Hold>, LeaseUser {
  readonly key: string;
  readonly token: number;
  readonly acquiredAt: WallClockMs;
  readonly heldFrom: MonotonicMs;
  readonly name: string;
  readonly label: string | undefined;

  opened: CallSite | undefined;

  private released = false;
  private outcome: Pending<ReleaseOutcome> | undefined;
  private reentries: ReentryQueue<Hold> | undefined;
  private lost: LockLostError | undefined;
  private controller: AbortController | undefined;

  constructor(
    private readonly engine: EngineContext,
    readonly lease: Lease,
    private readonly outer: Hold | undefined,
    facts: HoldFacts,
    /** How many may hold the lock at once, by the word of this hold's caller. */
    readonly limit = lease.limit,
  ) {
    this.name = facts.name;
    this.label = facts.label;
    this.key = lease.key;
    this.token = facts.token;
    this.heldFrom = facts.heldFrom;
    this.acquiredAt = lease.wallClockAt(facts.heldFrom);
  }

  /** Where the branches of this hold's scope enter that take the lock once more. */
  get reentry(): ReentryQueue<Hold> {
    this.reentries ??= new ReentryQueue<Hold>(this);
    return this.reentries;
  }

  /** One more hold inside of this one, with the same token: it is the same acquisition (B50). */
  inner(limit: number): Hold {
    return new Hold(this.engine, this.lease, this, this, limit);
  }

  get origin(): object {
    return this.engine;
  }

  /** As of a hold that is made of several. */
  holdOf(key: string): Hold | undefined {
    return key === this.key ? this : undefined;
  }

  /** The caller gets the handle itself, and has to release it. */
  open(site: CallSite): void {
    this.opened = site;
  }

  /** It was granted just now, and its lock stays taken for so many ms (`holdAtLeast`). */
  keepFor(ms: number): void {
    if (ms > 0) this.lease.keepUntil(later(this.engine.clock.monotonic(), ms));
  }

  get keys(): readonly string[] {
    return [this.key];
  }

  get tokens(): ReadonlyMap<string, number> {
    return new Map([[this.key, this.token]]);
  }

  get degraded(): boolean {
    return this.lease.degraded;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = this.engine.reporter.signalController();
      const lost = this.lostError;
      if (lost !== undefined) this.controller.abort(lost);
    }
    return this.controller.signal;
  }

  get isHeld(): boolean {
    return !this.isOver && this.engine.leases.isSure(this.lease);
  }

  /** Released, lost, or outlived by what it was inside of. Reads the clock (B17). */
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
      `The lock "${this.key}" may be over: the wall clock of this machine jumped ahead, as it does when the machine was suspended. The store is being asked; look again in a moment, or stop the work.`,
      { keys: this.keys },
    );
    throw originate(error, this.engine);
  }

  /** Neither lost nor released, as far as it is known. */
  assertGood(): void {
    const lost = this.lostError;
    if (lost !== undefined) throw originate(lost, this.engine);
    if (this.released) {
      const error = new LockNotHeldError(
        `The lock "${this.key}" was released before this call. Do the work before release(), or take the lock again.`,
        { keys: this.keys },
      );
      throw originate(error, this.engine);
    }
  }

  async extend(ms: number): Promise<void> {
    const lease = checkTime('extend()', 'ms', ms, { min: 1 });
    this.assertGood();
    await extendOrThrow(this.engine, [this], lease);
    this.assertGood();
  }

  async run<T>(fn: (lock: LockHandle) => Promise<T> | T): Promise<T> {
    this.assertHeld();
    return await traceHold(this.engine.instance, this, () => runInScope(this, fn));
  }

  release(): Promise<ReleaseOutcome> {
    this.outcome ??= this.end();
    return promiseOf(this.outcome);
  }

  /** Releases it; resolves when that is on its way. Undefined when it is, and there is nothing to wait for. */
  giveBack(): Promise<unknown> | undefined {
    this.outcome ??= this.end(true);
    if (this.outcome === RELEASED) return undefined;
    const { key } = this;
    const { session } = this.engine;
    return this.lease.lingering?.then(() => session.whenSent?.(key)) ?? session.whenSent?.(key);
  }

  private end(mayLinger = false): Pending<ReleaseOutcome> {
    // A listener that hears of it may call release() before there is an outcome.
    if (this.released) return Promise.resolve().then(() => this.release());
    const { leases, clock } = this.engine;
    const now = clock.monotonic();
    if (!leases.isGood(this.lease, now)) this.lost ??= this.lease.lostError;
    const lost = this.lost !== undefined;
    this.released = true;
    if (this.outer === undefined) {
      const outcome = lost ? EXPIRED : leases.release(this.lease, this, now, mayLinger);
      this.reentries?.close();
      return outcome;
    }
    this.reentries?.close();
    this.outer.reentry.leave(this);
    return lost ? EXPIRED : RELEASED;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** What logs and JSON show of it. */
  toJSON(): object {
    const { key, token, isHeld, remaining, acquiredAt } = this;
    return { key, token, isHeld, remaining, acquiredAt };
  }

  [inspect.custom](): string {
    const { key, token, isHeld, remaining } = this;
    return `LockHandle ${inspect({ key, token, isHeld, remaining })}`;
  }

  /** The lease was lost under this hold. */
  loseTo(error: LockLostError): void {
    if (this.released || this.lost !== undefined) return;
    this.lost = error;
    const { controller } = this;
    if (controller !== undefined) this.engine.hub.context.run(() => controller.abort(error));
    this.reentries?.lose(error);
  }

  /** The hold around this one ended while this one's work still ran. */
  outlivedOuter(): void {
    this.loseTo(
      new LockLostError(
        `The lock "${this.key}" was re-entered by work that outlived the scope which holds it. Await that work inside the scope.`,
        { keys: this.keys, reason: 'expired' },
      ),
    );
    this.reentries?.close();
  }
}
