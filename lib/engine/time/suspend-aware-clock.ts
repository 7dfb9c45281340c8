import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { CautiousMs, Clock } from '../../common/clock.js';

/** Some systems count wall-clock time in steps of nearly 16 ms. */
const TOLERANCE = 20;

/** Older ones matter only for requests that were under way for that long. */
const JUMPS_KEPT = 16;

/** That the wall clock had jumped ahead, and how far in all by then. */
interface Jump {
  readonly foundAt: MonotonicMs;
  readonly skipped: number;
}

/**
 * Counts time for as long as it may have been (F30). The monotonic clock stands still while a machine is suspended, the
 * wall clock does not; but the wall clock can be set. So each of its jumps ahead is counted as if the machine had been
 * suspended. A jump back counts for nothing.
 */
export class SuspendAwareClock {
  /** By how much the wall clock is ahead of the monotonic one. */
  private ahead: number;
  private skippedInAll = 0;
  private readonly jumps: Jump[] = [];

  /** @param onJump called when a jump ahead was found, which happens when somebody asks for the time */
  constructor(
    private readonly clock: Clock,
    private readonly onJump: () => void,
  ) {
    this.ahead = clock.wall() - clock.monotonic();
  }

  /** Reads the wall clock; `now` may be a little old. */
  read(now = this.clock.monotonic()): CautiousMs {
    const drift = this.clock.wall() - now - this.ahead;
    if (drift > TOLERANCE || drift < -TOLERANCE) this.measure();
    return (now + this.skippedInAll) as CautiousMs;
  }

  /** The time, for a request that is sent next: a jump that is found after it counts for the lease that it brings. */
  sendingAt(): MonotonicMs {
    this.read();
    return this.clock.monotonic();
  }

  /** What an earlier time was. A jump counts as later than all times before it was found. */
  at(time: MonotonicMs): CautiousMs {
    let skipped = 0;
    for (const jump of this.jumps) if (jump.foundAt <= time) skipped = jump.skipped;
    return (time + skipped) as CautiousMs;
  }

  /** The process may be interrupted between two readings, which must look neither like a jump ahead nor like one back. */
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
