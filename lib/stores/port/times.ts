import { BackgroundRetry } from '../../common/background-retry.js';
import { TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient } from './lock-store.js';
import { storeFailure } from './store-failure.js';

/** How long a waiter stays in the queue without asking again, ms: three polls (P15). */
export const WAITER_TTL = 3_000;

/** How long requests of an owner withdrawn in doubt are rejected, ms: longer than a request can be late (P32). */
export const TOMBSTONE_TTL = 60_000;

/** How long the first waiter delays its request until grants can be pushed to it, ms. */
export const SUBSCRIBE_TIMEOUT = 500;

/** How late a timer has to fire, ms, for the process to have been stopped or blocked meanwhile. */
export const MIN_STALL = 50;

/** How long a request may take, ms: well below a third of the lease, so that a failed renewal can be retried (P31). */
export function requestTimeoutFor(watchdogTimeout: number, longest = 2_000): number {
  return Math.min(longest, watchdogTimeout / 6);
}

/** ms before connection attempt number `attempt` (from 0): up to a second, with jitter so that many processes spread out. */
export function pauseBeforeConnecting(attempt: number, longest = 1_000): number {
  return Math.min(25 * 2 ** attempt, longest) * (0.75 + Math.random() / 4);
}

/**
 * Calls back when a reply is overdue, but not because this process was busy: replies that have arrived by then are read
 * first. If the process stood still, the reply gets its whole time once more, since the request may not have left yet.
 */
export class ReplyTimeout {
  private timer: NodeJS.Timeout | undefined;
  private dueAt = 0;

  constructor(
    private readonly ms: number,
    private readonly onTimeout: () => void,
  ) {}

  start(): void {
    this.stop();
    this.wait(false);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private wait(hasBeenExtended: boolean): void {
    this.dueAt = performance.now() + this.ms;
    const timer = setTimeout(() => {
      const stoodStill = performance.now() - this.dueAt > MIN_STALL;
      // Replies that have arrived are read before this runs.
      setImmediate(() => {
        if (this.timer !== timer) return;
        // Only once: a process that stalls again and again would never time out.
        if (stoodStill && !hasBeenExtended) this.wait(true);
        else {
          this.timer = undefined;
          this.onTimeout();
        }
      });
    }, this.ms);
    this.timer = timer;
  }
}

/** The timers and the background requests of one session. They don't keep the process alive (B14). */
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
