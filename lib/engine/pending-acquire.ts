import { later } from '../common/clock.js';
import type { Linked } from '../common/linked-queue.js';
import type { Timer } from '../common/timer-queue.js';
import { ELECTION_OPERATION } from '../model/lock-kind.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import type { Hold } from './hold.js';
import type { Caller } from './key-machine/key-machine.js';
import type { KeyRunner } from './key-runner.js';
import type { LockEngine } from './lock-engine.js';
import { warnOfLongWait } from './holder-names.js';
import { heldKeys, type Scope } from './scope.js';
import { ANSWER_GRACE, LATEST_OUTCOME, LONG_WAIT } from './key-machine/time-limits.js';

/** Why a wait ended without its result. */
export type EndOfWait = 'timeout' | 'aborted';

/** How long a call waits, and the signal that may end the wait sooner. */
export interface WaitOptions {
  readonly waitTime: number;
  readonly signal: AbortSignal | undefined;
}

/** A promise that `waitTime` or the caller's signal may also settle. The first outcome counts. */
export class Deadline<T, O extends WaitOptions = WaitOptions> implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  readonly promise: Promise<T>;

  isSettled = false;
  /** Whether its time was extended a little. */
  prolonged = false;

  private resolve!: (value: T) => void; // set by the promise's executor, which runs at once
  private reject!: (error: unknown) => void; // set there, too

  /** @param onEnd called when time or signal end the wait; it then has to call `fail` */
  constructor(
    protected readonly engine: LockEngine,
    readonly startedAt: MonotonicMs,
    protected readonly options: O,
    public onEnd: ((why: EndOfWait) => void) | undefined,
  ) {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  get waitTime(): number {
    return this.options.waitTime;
  }

  get abortReason(): unknown {
    return this.options.signal?.reason as unknown;
  }

  /** Starts the timer and listens to the signal. */
  begin(): void {
    if (this.isSettled) return;
    const { waitTime } = this.options;
    if (waitTime !== Infinity) this.engine.timers.set(this, later(this.startedAt, waitTime));
    this.listen();
  }

  /** Listens to the signal only. */
  listen(): void {
    const { signal } = this.options;
    if (signal === undefined) return;
    // Aborted since the call began: there will be no event.
    if (signal.aborted) this.aborted();
    else onAbort(signal, this);
  }

  /** Its time has ended: waits a little longer, for a reply in flight. */
  prolong(now: MonotonicMs): void {
    this.prolonged = true;
    this.engine.timers.set(this, later(now, ANSWER_GRACE));
  }

  /** Stops timer and signal; the outcome follows. */
  stop(): void {
    if (this.heapIndex !== -1) this.engine.timers.clear(this);
    const { signal } = this.options;
    if (signal !== undefined) offAbort(signal, this);
  }

  succeed(value: T): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.resolve(value);
    this.stop();
  }

  fail(error: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.reject(error);
    this.stop();
  }

  /** Whether its time has ended, though no timer has fired yet. */
  isOverdue(now: MonotonicMs): boolean {
    return this.heapIndex !== -1 && this.dueAt <= now && this.options.waitTime !== Infinity;
  }

  aborted(): void {
    this.onEnd?.('aborted');
  }

  fire(): void {
    this.onEnd?.('timeout');
  }
}

/** The options of one of several keys, once the store has replied to a request for others of them. */
export interface PartOptions extends ResolvedLockOptions {
  /** How many keys are acquired together. */
  readonly partOf: number;
  /** The first of them that is known to be held. */
  readonly heldKey: string | undefined;
}

/** One call that wants a lock and has not acquired it yet. */
export class PendingAcquire
  extends Deadline<Hold, ResolvedLockOptions & Partial<PartOptions>>
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
    engine: LockEngine,
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

  get maxWaiting(): number {
    return this.options.maxWaiting;
  }

  get reentrant(): boolean {
    return this.options.reentrant;
  }

  get retry(): ResolvedLockOptions['retry'] {
    return this.options.retry;
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

interface AbortListener {
  aborted(): void;
}

interface SignalListeners {
  readonly all: Set<AbortListener>;
  readonly dispatch: () => void;
}

const listenersOf = new WeakMap<AbortSignal, SignalListeners>();

/** One listener per signal, however many waits use it: Node warns of a leak when there are more than ten. */
function onAbort(signal: AbortSignal, deadline: AbortListener): void {
  let listeners = listenersOf.get(signal);
  if (listeners === undefined) {
    const all = new Set<AbortListener>();
    const dispatch = (): void => {
      listenersOf.delete(signal);
      for (const each of [...all]) each.aborted();
    };
    listeners = { all, dispatch };
    listenersOf.set(signal, listeners);
    signal.addEventListener('abort', dispatch, { once: true });
  }
  listeners.all.add(deadline);
}

function offAbort(signal: AbortSignal, deadline: AbortListener): void {
  const listeners = listenersOf.get(signal);
  if (listeners?.all.delete(deadline) !== true || listeners.all.size > 0) return;
  listenersOf.delete(signal);
  signal.removeEventListener('abort', listeners.dispatch);
}
