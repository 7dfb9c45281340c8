import type { Linked } from '../common/linked-queue.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import type { EngineContext } from './context.js';
import { Deadline, type EndOfWait } from './deadline.js';
import type { Hold } from './hold.js';
import type { Caller } from './key-machine/key-machine.js';
import type { KeyRunner } from './key-runner.js';
import { heldKeys, type Scope } from './scope.js';

/** The options of one of several keys, once the store has answered a request for others of them (B12). */
export interface PartOptions extends ResolvedLockOptions {
  /** How many keys are acquired together. */
  readonly partOf: number;
  /** The first of them that others are known to hold. */
  readonly heldKey: string | undefined;
}

/** One call that wants a lock and does not have it yet. */
export class PendingAcquire extends Deadline<Hold> implements Caller<PendingAcquire>, Linked<PendingAcquire> {
  previous: PendingAcquire | undefined = undefined;
  next: PendingAcquire | undefined = undefined;

  /** Where it waits in line, if it does. */
  runner: KeyRunner | undefined = undefined;
  /** Whether its `queued` event was emitted. */
  isQueuedReported = false;
  prolonged = false;
  lateAfter: number | undefined = undefined;
  declare protected readonly engine: EngineContext;
  declare protected readonly options: ResolvedLockOptions & Partial<PartOptions>;

  /**
   * @param scope the scope of the calling code
   * @param joinedAt the time: later callers of all processes come after it
   */
  constructor(
    engine: EngineContext,
    readonly key: string,
    options: ResolvedLockOptions | PartOptions,
    startedAt: MonotonicMs,
    private readonly scope: Scope | undefined,
    readonly joinedAt: MonotonicMs,
  ) {
    super(engine, startedAt, options, undefined);
  }

  get leaseTime(): number | undefined {
    return this.options.leaseTime;
  }

  /** The lease to request, ms. */
  get lease(): number {
    return this.options.leaseTime ?? this.engine.watchdogTimeout;
  }

  get fair(): boolean {
    return this.options.fair;
  }

  get limit(): number {
    return this.options.limit;
  }

  get maxWaiting(): number {
    return this.options.maxWaiting;
  }

  get retry(): ResolvedLockOptions['retry'] {
    return this.options.retry;
  }

  get label(): string | undefined {
    return this.options.label;
  }

  get name(): string {
    return this.options.name;
  }

  get skips(): boolean {
    return this.options.skips;
  }

  get onWaiting(): (() => void) | undefined {
    return this.options.onWaiting;
  }

  get holdAtLeast(): number {
    return this.options.holdAtLeast;
  }

  get needsOwnLease(): boolean {
    return this.options.fair || this.options.leaseTime !== undefined;
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

  override aborted(): void {
    this.end('aborted');
  }

  override fire(): void {
    this.end('timeout');
  }

  private end(why: EndOfWait): void {
    if (this.runner === undefined) this.onEnd?.(why);
    else this.runner.leave(this, why);
  }
}
