import type { ResolvedLockOptions } from '../../model/resolved-lock.options.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { Hold } from '../hold/hold.js';
import type { EngineContext } from '../context.js';
import { heldKeys, type Scope } from '../scope/scope.js';
import type { Linked } from '../../common/linked-queue.js';
import { Wait, type GivenUp } from '../time/wait.js';

/** What one of several keys is taken with when the store has answered a request for others of them (B12). */
export interface PartOptions extends ResolvedLockOptions {
  /** How many keys are taken together. */
  readonly partOf: number;
  /** The first of them that is known to be held by others. */
  readonly heldKey: string | undefined;
}

/** Where a caller stands in line. */
export interface WaiterQueue {
  /** Time or signal have ended the caller's wait: it leaves, and hears of it. */
  giveUp(caller: Waiter, why: GivenUp): void;
}

/** One caller's wish for a lock. */
export class Waiter extends Wait<Hold> implements Linked<Waiter> {
  previous: Waiter | undefined = undefined;
  next: Waiter | undefined = undefined;

  /** The queue that it stands in, if it does. */
  queue: WaiterQueue | undefined = undefined;
  /** Whether its `queued` event was emitted. */
  queuedTold = false;
  /** Whether it was given a little longer than its time, for an answer on its way. */
  prolonged = false;
  /** How long the store's last answer took, ms, if it was a grant that came too late to be of use. */
  lateAfter: number | undefined = undefined;
  declare protected readonly engine: EngineContext;
  declare protected readonly terms: ResolvedLockOptions & Partial<PartOptions>;

  /**
   * @param scope what the code that calls is in
   * @param joinedAt the time: those who came later, in whatever process, are after it
   */
  constructor(
    engine: EngineContext,
    readonly key: string,
    terms: ResolvedLockOptions | PartOptions,
    startedAt: MonotonicMs,
    private readonly scope: Scope | undefined,
    readonly joinedAt: MonotonicMs,
  ) {
    super(engine, startedAt, terms, undefined);
  }

  get leaseTime(): number | undefined {
    return this.terms.leaseTime;
  }

  /** The lease to ask the store for, ms. */
  get lease(): number {
    return this.terms.leaseTime ?? this.engine.watchdogTimeout;
  }

  get fair(): boolean {
    return this.terms.fair;
  }

  /** How many may hold the lock at once. */
  get limit(): number {
    return this.terms.limit;
  }

  /** How many callers of this process may wait for the lock beside it. */
  get maxWaiting(): number {
    return this.terms.maxWaiting;
  }

  get retry(): ResolvedLockOptions['retry'] {
    return this.terms.retry;
  }

  get label(): string | undefined {
    return this.terms.label;
  }

  get name(): string {
    return this.terms.name;
  }

  get skips(): boolean {
    return this.terms.skips;
  }

  get onWaiting(): (() => void) | undefined {
    return this.terms.onWaiting;
  }

  get holdAtLeast(): number {
    return this.terms.holdAtLeast;
  }

  /** Whether it has a lease of its own in any case. */
  get needsOwnLease(): boolean {
    return this.terms.fair || this.terms.leaseTime !== undefined;
  }

  /** Of how many keys it is one, where others of them were asked for before. */
  get partOf(): number | undefined {
    return this.terms.partOf;
  }

  get heldKey(): string | undefined {
    return this.terms.heldKey;
  }

  protected override givenUp(why: GivenUp): void {
    if (this.queue === undefined) super.givenUp(why);
    else this.queue.giveUp(this, why);
  }

  /** Keys of the locks that the caller holds. */
  get holding(): readonly string[] {
    return heldKeys(this.engine, this.scope);
  }
}

/** Tells those at the head of a line whose time ended while the event loop stood still. */
export function endOverdue(line: { readonly head: Waiter | undefined }, now: MonotonicMs): void {
  for (let late = line.head; late?.isOverdue(now) === true; late = line.head) late.fire();
}

/** Whether callers with these limits may use the same key: all of it (1) goes with readers (`Infinity`). */
export function agree(one: number, other: number): boolean {
  return one === other || ((one === 1 || one === Infinity) && (other === 1 || other === Infinity));
}
