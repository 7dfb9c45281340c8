import { setTimeout as nativeSetTimeout } from 'node:timers';
import { BackgroundRetry } from '../../common/background-retry.js';
import { inMs } from '../../common/durations.js';
import { TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient } from './lock-store.js';
import { storeFailure } from './store-failure.js';

/** How long a waiter stays in the queue without another request, ms: three polls. */
export const WAITER_TTL = 3_000;

/** How long requests of an owner that was withdrawn in doubt are rejected, ms: longer than a request can be late. */
export const TOMBSTONE_TTL = 60_000;

/**
 * After how long without traffic a connection is tested by TCP, ms: before firewalls and load balancers forget it, many of
 * them after 60 s or more. Without it, the operating system would do so after two hours.
 */
export const KEEP_ALIVE = 30_000;

/** The delay of a timer, ms, from which the process counts as stopped or blocked meanwhile. */
export const MIN_STALL = 50;

/** How long a request may take, ms: well below a third of the lease, so that a failed renewal can be retried. */
export function requestTimeoutFor(watchdogTimeout: number, longest = 2_000): number {
  return Math.min(longest, watchdogTimeout / 6);
}

/** The shortest and the longest pause before an attempt to connect, ms. */
const SHORTEST_PAUSE = 25;
const LONGEST_PAUSE = 2_000;

/**
 * ms before connection attempt number `attempt` (from 0). Most lost connections are replaced by the first attempt, which
 * comes soon. A server that restarts refuses the first attempts of a whole fleet, which has lost its connections at the same
 * moment: any part of a longer pause then spreads the fleet over time. Otherwise its requests would come all at once, and
 * its polls in step from then on.
 */
export function pauseBeforeConnecting(attempt: number, longest = LONGEST_PAUSE): number {
  const most = attempt === 0 ? 2 * SHORTEST_PAUSE : Math.min(250 * 2 ** attempt, longest);
  return SHORTEST_PAUSE + Math.random() * (most - SHORTEST_PAUSE);
}

/**
 * Calls back when a reply is overdue, unless this process was busy: replies that have arrived by then are read first.
 * If the process stood still, the reply gets its whole time once more, since neither the request nor the reply may have
 * moved meanwhile.
 *
 * A reply only moves the deadline, as clearing and setting a timer for each reply costs more than decoding it. A timer
 * that fires before the deadline is set again. With fake timers there is one timer per reply, so that tests see them.
 */
export class ReplyTimeout {
  /** May run even while no reply is due. */
  timer: NodeJS.Timeout | undefined;
  /** Undefined while no reply is due. */
  private dueAt: number | undefined;
  /** The `setTimeout` that created the timer: a test may have installed or removed fake timers since. */
  private setWith: unknown;
  /** Only once, or a process that stalls repeatedly would never time out. */
  private isExtended = false;

  constructor(
    private readonly ms: number,
    private readonly onTimeout: () => void,
  ) {}

  start(): void {
    this.isExtended = false;
    this.wait();
  }

  /** No reply is due, but the next request may follow shortly. */
  pause(): void {
    if (this.setWith === nativeSetTimeout) this.dueAt = undefined;
    else this.stop();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = this.dueAt = undefined;
  }

  private wait(): void {
    const isNative = this.setWith === nativeSetTimeout && globalThis.setTimeout === nativeSetTimeout;
    if (!isNative || this.timer === undefined) {
      this.stop();
      this.run(this.ms);
    }
    this.dueAt = performance.now() + this.ms;
  }

  private run(ms: number): void {
    this.setWith = globalThis.setTimeout;
    const timer = setTimeout(() => {
      if (this.timer === timer) this.onTimer();
    }, ms);
    this.timer = timer;
  }

  private onTimer(): void {
    const { dueAt } = this;
    this.timer = undefined;
    if (dueAt === undefined) return;
    const lateBy = performance.now() - dueAt;
    // Timers may fire a fraction of a millisecond early.
    if (lateBy < -1) {
      this.run(Math.ceil(-lateBy));
      return;
    }
    setImmediate(() => {
      // The reply has been read, or the connection has closed.
      if (this.dueAt !== dueAt) return;
      if (lateBy > MIN_STALL && !this.isExtended) {
        this.isExtended = true;
        this.wait();
      } else {
        this.stop();
        this.onTimeout();
      }
    });
  }
}

/** Limits the time of a function of the user: a call that never returns must not block a connection for ever. */
export async function inTime<T>(ms: number, call: () => T | Promise<T>, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${message} within ${inMs(ms)}`)), ms).unref();
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The timers and the background requests of one session. They don't keep the process alive. */
export class SessionTimers {
  readonly timers: TimerQueue;
  readonly retry: BackgroundRetry;

  /** @param readsInputFirst see `TimerQueue` */
  constructor(client: Pick<LockStoreClient, 'now'>, readsInputFirst = false) {
    const clock = { monotonic: () => client.now() };
    this.timers = new TimerQueue(clock, false, readsInputFirst);
    this.retry = new BackgroundRetry(clock, this.timers, (error) => storeFailure(error).inDoubt);
  }

  close(): void {
    this.retry.stop();
    this.timers.close();
  }
}
