/** Milliseconds of the process's monotonic clock. Never compare them with wall-clock times. */
export type MonotonicMs = number & { readonly __brand: 'monotonic' };

/** Milliseconds since the epoch, for people. Never used to decide whether a lock is held. */
export type WallClockMs = number & { readonly __brand: 'wall-clock' };

/** Where the engine reads the time, and has itself called back. */
export interface LockClock {
  /** Never goes back. What leases and waits are measured by. */
  monotonic(): MonotonicMs;
  wall(): WallClockMs;
  /** Those of the process if left out. */
  readonly timers?: LockTimers | undefined;
}

/** Timers that follow a {@link LockClock}. */
export interface LockTimers {
  /**
   * Calls back once, in so many whole ms (0 … 2 147 483 647), and not before `set` has returned. Answers what `clear`
   * takes.
   */
  set(callback: () => void, ms: number, keepsProcessAlive: boolean): unknown;
  clear(timer: unknown): void;
}

/** Milliseconds of a `SuspendAwareClock`. Never compare them with monotonic times. */
export type SuspendSafeMs = number & { readonly __brand: 'cautious' };

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
export function deadlineOf<T extends MonotonicMs | SuspendSafeMs>(startedAt: T, lease: number): T {
  return (startedAt + lease * 0.99 - 2) as T;
}

export function later(time: MonotonicMs, ms: number): MonotonicMs {
  return (time + ms) as MonotonicMs;
}
