import type { MonotonicMs } from '../../stores/port/lock-store.js';
import { offAbort, onAbort, type AbortListener } from './abort-listeners.js';
import type { Timer, TimerQueue } from '../../common/timer-queue.js';
import { later } from '../../common/clock.js';

/** Why a wait ended without what was waited for. */
export type GivenUp = 'timeout' | 'aborted';

/** For how long somebody waits, and what may end that sooner. */
export interface WaitTerms {
  readonly waitTime: number;
  readonly signal: AbortSignal | undefined;
}

/** One caller's wait: a promise that can also end by time or by the caller's signal, once. */
export class Wait<T> implements Timer, AbortListener {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  readonly promise: Promise<T>;

  private settled = false;
  private resolve!: (value: T) => void; // set by the promise's executor, which runs at once
  private reject!: (error: unknown) => void; // likewise

  /** @param onGivenUp called when time or signal end the wait; whoever owns it then calls `fail` */
  constructor(
    protected readonly engine: { readonly timers: TimerQueue },
    readonly startedAt: MonotonicMs,
    protected readonly terms: WaitTerms,
    public onGivenUp: ((wait: Wait<T>, why: GivenUp) => void) | undefined,
  ) {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  get waitTime(): number {
    return this.terms.waitTime;
  }

  get abortReason(): unknown {
    return this.terms.signal?.reason as unknown;
  }

  get isSettled(): boolean {
    return this.settled;
  }

  /** Starts the clock and listens to the signal. */
  begin(): void {
    if (this.settled) return;
    const { waitTime } = this.terms;
    if (waitTime !== Infinity) this.engine.timers.set(this, later(this.startedAt, waitTime));
    this.listen();
  }

  /** Listens to the signal only. */
  listen(): void {
    const { signal } = this.terms;
    if (signal === undefined) return;
    if (signal.aborted) {
      // By what ran since the caller asked: there will be no other sign of it.
      this.aborted();
      return;
    }
    onAbort(signal, this);
  }

  /** Gives a wait whose time is over a little longer. */
  prolong(until: MonotonicMs): void {
    this.engine.timers.set(this, until);
  }

  /** Stops the clock; the outcome follows. */
  stop(): void {
    if (this.heapIndex !== -1) this.engine.timers.clear(this);
    const { signal } = this.terms;
    if (signal !== undefined) offAbort(signal, this);
  }

  succeed(value: T): void {
    if (this.settled) return;
    this.settled = true;
    this.resolve(value);
    this.stop();
  }

  fail(error: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.reject(error);
    this.stop();
  }

  /** Whether its time is over though no timer has told yet. */
  isOverdue(now: MonotonicMs): boolean {
    return this.heapIndex !== -1 && this.dueAt <= now;
  }

  aborted(): void {
    this.givenUp('aborted');
  }

  fire(): void {
    this.givenUp('timeout');
  }

  protected givenUp(why: GivenUp): void {
    this.onGivenUp?.(this, why);
  }
}
