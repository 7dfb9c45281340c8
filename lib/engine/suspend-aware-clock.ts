import type { SuspendSafeMs, Clock } from '../common/clock.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';

/** Some systems count wall-clock time in steps of nearly 16 ms. */
const TOLERANCE = 20;

/** Older jumps matter only for requests that have been under way since. */
const JUMPS_KEPT = 16;

/** A jump of the wall clock, and how far it had jumped in all by then. */
interface Jump {
  readonly foundAt: MonotonicMs;
  readonly skipped: number;
}

/**
 * An upper bound of the time that has passed (F30). The monotonic clock stops while a machine is suspended; the wall clock goes
 * on, but can be set. So each of its jumps ahead counts as if the machine had been suspended, and a jump back counts nothing.
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

  /** The time, for a request that is sent next: a jump found later counts against the lease that it brings. */
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

  /** The process may be interrupted between two readings, which must look like no jump. */
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
