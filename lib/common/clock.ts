import type { LockClock, LockTimers, MonotonicMs, WallClockMs } from '../stores/port/lock-store.js';

/** Milliseconds of a `SuspendAwareClock`. Never compare them with monotonic times. */
export type CautiousMs = number & { readonly __brand: 'cautious' };

/** The engine's only source of time. */
export type Clock = LockClock;

// Looked up at each call, and not imported: fake timers of a test replace what is global.
export const systemClock: Clock = {
  monotonic: () => performance.now() as MonotonicMs,
  wall: () => Date.now() as WallClockMs,
};

export const systemTimers: LockTimers = {
  set: (callback, ms, keepsProcessAlive) => {
    const timer = setTimeout(callback, ms);
    if (!keepsProcessAlive) timer.unref();
    return timer;
  },
  clear: (timer) => {
    clearTimeout(timer as NodeJS.Timeout);
  },
};

/** The longest time that timers of Node and `PEXPIRE` both accept as meant, ms. */
export const LONGEST_TIME = 2 ** 31 - 1;

/**
 * When a lease that began no earlier than `startedAt` may no longer be relied on. One per cent and 2 ms are left for
 * clocks of different speed and for the store's own rounding: the margin of the Redlock description
 * (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
 */
export function deadlineOf<T extends MonotonicMs | CautiousMs>(startedAt: T, lease: number): T {
  return (startedAt + lease * 0.99 - 2) as T;
}

export function later(time: MonotonicMs, ms: number): MonotonicMs {
  return (time + ms) as MonotonicMs;
}
