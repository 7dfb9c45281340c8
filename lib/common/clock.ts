/** Milliseconds of the process's monotonic clock. Never compare them with wall-clock times. */
export type MonotonicMs = number & { readonly __brand: 'monotonic' };

/** Milliseconds since the epoch, for display. Never used to decide whether a lock is held. */
export type WallClockMs = number & { readonly __brand: 'wall-clock' };

/** The engine's source of time and timers. */
export interface LockClock {
  /** Never goes back. Leases and waits are measured by it. */
  monotonic(): MonotonicMs;
  wall(): WallClockMs;
  /** If omitted, those of the process. */
  readonly timers?: LockTimers | undefined;
}

/** Timers that follow a {@link LockClock}. */
export interface LockTimers {
  /**
   * Calls back once, after this many whole ms (0 … 2 147 483 647), and not before `set` has returned. Returns the
   * argument of `clear`.
   */
  set(callback: () => void, ms: number, keepsProcessAlive: boolean): unknown;
  clear(timer: unknown): void;
}

/** Milliseconds of a `SuspendAwareClock`. Never compare them with monotonic times. */
export type SuspendSafeMs = number & { readonly __brand: 'cautious' };

/** The engine's only source of time. */
export type Clock = LockClock;

// Looked up at each call, and not imported: fake timers of a test replace the globals.
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

/** The longest time that timers of Node and `PEXPIRE` both accept, ms. */
export const LONGEST_TIME = 2 ** 31 - 1;

/**
 * When a lease that began no earlier than `startedAt` can no longer be relied on. One per cent and 2 ms are left for
 * clocks of different speed and for the store's own rounding: the margin of the Redlock description
 * (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
 */
export function deadlineOf<T extends MonotonicMs | SuspendSafeMs>(startedAt: T, lease: number): T {
  return (startedAt + lease * 0.99 - 2) as T;
}

export function later(time: MonotonicMs, ms: number): MonotonicMs {
  return (time + ms) as MonotonicMs;
}

/** Some systems count wall-clock time in steps of nearly 16 ms. */
const TOLERANCE = 20;

/** Older jumps matter only for requests that have been pending since. */
const JUMPS_KEPT = 16;

/** A jump of the wall clock, and how far it had jumped in total by then. */
interface Jump {
  readonly foundAt: MonotonicMs;
  readonly skipped: number;
}

/**
 * An upper bound of the elapsed time. The monotonic clock stops while a machine is suspended; the wall clock
 * continues, but can be set. So each of its jumps ahead counts as if the machine had been suspended, and a jump back
 * counts nothing.
 */
export class SuspendAwareClock {
  /** By how much the wall clock is ahead of the monotonic one. */
  private ahead: number;
  private skippedInAll = 0;
  private readonly jumps: Jump[] = [];

  /** @param onJump called when a jump ahead is found, while the clock is being read */
  constructor(
    private readonly clock: Clock,
    private readonly onJump: () => void,
  ) {
    this.ahead = clock.wall() - clock.monotonic();
  }

  /** Reads the wall clock; `now` may be a little old. */
  read(now = this.clock.monotonic()): SuspendSafeMs {
    const drift = this.clock.wall() - now - this.ahead;
    if (drift > TOLERANCE || drift < -TOLERANCE) this.measure();
    return (now + this.skippedInAll) as SuspendSafeMs;
  }

  /** The time, for a request that is sent next: a jump found later counts against the lease that it acquires. */
  sendingAt(): MonotonicMs {
    this.read();
    return this.clock.monotonic();
  }

  /** An earlier time. A jump counts as later than all times before it was found. */
  at(time: MonotonicMs): SuspendSafeMs {
    let skipped = 0;
    for (const jump of this.jumps) if (jump.foundAt <= time) skipped = jump.skipped;
    return (time + skipped) as SuspendSafeMs;
  }

  /** The process may be interrupted between two readings, which must not look like a jump. */
  private measure(): void {
    const before = this.clock.monotonic();
    const wall = this.clock.wall();
    const after = this.clock.monotonic();
    const skipped = wall - after - this.ahead;
    if (skipped > TOLERANCE) {
      this.ahead += skipped;
      this.skippedInAll += skipped;
      if (this.jumps.push({ foundAt: after, skipped: this.skippedInAll }) > JUMPS_KEPT) this.jumps.shift();
      this.onJump();
    } else if (wall - before < this.ahead - TOLERANCE) this.ahead = wall - before;
  }
}
