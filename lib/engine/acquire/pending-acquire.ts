import { later } from '../../common/clock.js';
import type { Linked } from '../../common/linked-queue.js';
import { ELECTION_OPERATION } from '../../model/lock-kind.js';
import type { ResolvedLockOptions } from '../../model/lock.options.js';
import type { LockStoreError, MonotonicMs } from '../../stores/port/lock-store.js';
import type { Hold } from '../holds/hold.js';
import type { Caller } from '../machine/key-machine.js';
import type { KeyRunner } from './key-runner.js';
import type { AcquireContext } from './acquire.js';
import { Deadline, type EndOfWait } from '../holds/deadline.js';
import { warnOfLongWait } from './holder-names.js';
import { heldKeys, type Scope } from '../holds/scope.js';
import { LATEST_OUTCOME, LONG_WAIT } from '../machine/time-limits.js';

/** The options of one of several keys, once the store has replied to a request for others of them. */
export interface PartOptions extends ResolvedLockOptions {
  /** How many keys are acquired together. */
  readonly partOf: number;
  /** The first of them that is known to be held. */
  readonly heldKey: string | undefined;
  /** Why an earlier attempt for all of them failed. */
  readonly lastFailure: LockStoreError | undefined;
}

/** One call that wants a lock and has not acquired it yet. */
export class PendingAcquire
  extends Deadline<Hold, ResolvedLockOptions & Partial<PartOptions>, AcquireContext>
  implements Caller<PendingAcquire>, Linked<PendingAcquire>
{
  previous: PendingAcquire | undefined = undefined;
  next: PendingAcquire | undefined = undefined;
  /** The queue in which it waits, if any. */
  runner: KeyRunner | undefined = undefined;
  /** Whether its `queued` event was emitted. */
  isQueuedReported = false;
  lateAfter: number | undefined = undefined;
  lateGrants = 0;

  readonly limit = this.options.limit;
  readonly permits = this.options.permits;
  readonly retry = this.options.retry;
  readonly maxWaiting = this.options.maxWaiting;
  readonly fair = this.options.fair;
  readonly leaseTime = this.options.leaseTime;
  /** The lease to request, ms. */
  readonly lease = this.leaseTime ?? this.engine.watchdogTimeout;
  readonly needsOwnLease = this.fair || this.leaseTime !== undefined;
  readonly holdAtLeast = this.options.holdAtLeast;
  readonly partOf = this.options.partOf;
  readonly operation = this.options.operation;
  readonly label = this.options.label;

  /**
   * @param scope the scope of the calling code
   * @param joinedAt when it called: later callers of all processes come after it
   */
  constructor(
    engine: AcquireContext,
    readonly key: string,
    options: ResolvedLockOptions | PartOptions,
    startedAt: MonotonicMs,
    private readonly scope: Scope | undefined,
    readonly joinedAt: MonotonicMs,
  ) {
    super(engine, startedAt, options, undefined);
  }

  get heldKey(): string | undefined {
    return this.options.heldKey;
  }

  get lastFailure(): LockStoreError | undefined {
    return this.options.lastFailure;
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

  /** Keys of the locks that the calling code holds. */
  get holding(): readonly string[] {
    return heldKeys(this.engine, this.scope);
  }

  override begin(): void {
    super.begin();
    // A candidate of an election waits for as long as another one leads.
    if (this.waitTime !== Infinity || this.isSettled || this.operation === ELECTION_OPERATION) return;
    this.engine.timers.set(this, later(this.engine.clock.monotonic(), LONG_WAIT));
  }

  override prolong(now: MonotonicMs): void {
    super.prolong(now);
    const { startedAt, waitTime, joinedAt } = this;
    // One of several keys, requested when the time was over already: its outcome must not be later still.
    if (joinedAt >= startedAt + waitTime)
      this.engine.timers.set(this, later(startedAt, waitTime + LATEST_OUTCOME));
  }

  override aborted(): void {
    this.end('aborted');
  }

  override fire(): void {
    if (this.waitTime === Infinity) void warnOfLongWait(this.engine, this);
    else this.end('timeout');
  }

  private end(why: EndOfWait): void {
    if (this.runner === undefined) this.onEnd?.(why);
    else this.runner.leave(this, why);
  }
}
