import { later } from '../common/clock.js';
import type { Timer, TimerQueue } from '../common/timer-queue.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import { ANSWER_GRACE } from './time-limits.js';

/** Why a wait ended without its result. */
export type EndOfWait = 'timeout' | 'aborted' | 'closed';

/** How long a call waits, and the signal that may end the wait sooner. */
export interface WaitOptions {
  readonly waitTime: number;
  readonly signal: AbortSignal | undefined;
}

/** A promise that `waitTime` or the caller's signal may also settle. The first outcome counts. */
export class Wait<T, O extends WaitOptions = WaitOptions> implements Timer {
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
    protected readonly timers: TimerQueue,
    readonly startedAt: MonotonicMs,
    readonly options: O,
    private readonly onEnd?: (why: EndOfWait) => void,
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
    if (waitTime !== Infinity) this.timers.set(this, later(this.startedAt, waitTime));
    if (this.options.signal !== undefined) this.listen();
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
    this.timers.set(this, later(now, ANSWER_GRACE));
  }

  /** Stops timer and signal; the outcome follows. */
  stop(): void {
    if (this.heapIndex !== -1) this.timers.clear(this);
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

interface AbortListener {
  aborted(): void;
}

interface SignalListeners {
  readonly all: Set<AbortListener>;
  readonly dispatch: () => void;
}

const listenersOf = new WeakMap<AbortSignal, SignalListeners>();

/** One listener per signal, however many waits use it: Node warns of a leak when there are more than ten. */
function onAbort(signal: AbortSignal, wait: AbortListener): void {
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
  listeners.all.add(wait);
}

function offAbort(signal: AbortSignal, wait: AbortListener): void {
  const listeners = listenersOf.get(signal);
  if (listeners?.all.delete(wait) !== true || listeners.all.size > 0) return;
  listenersOf.delete(signal);
  signal.removeEventListener('abort', listeners.dispatch);
}
