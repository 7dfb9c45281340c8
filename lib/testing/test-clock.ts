import { setImmediate as realSetImmediate } from 'node:timers';
import { later } from '../common/clock.js';
import type { LockClock, LockTimers, MonotonicMs, WallClockMs } from '../stores/port/lock-store.js';

// Captured here because a test may install fake timers in addition to this clock.
const endOfTurn = realSetImmediate;

interface TestTimer {
  readonly dueAt: MonotonicMs;
  readonly callback: () => void;
  readonly keepsProcessAlive: boolean;
  /** Fires the timer when real time runs, or when it is due already. */
  native: NodeJS.Timeout | undefined;
}

/** A clock that a test advances. In between, time runs as usual or stands still. */
export class TestClock implements LockClock {
  readonly timers: LockTimers = {
    set: (callback, ms, keepsProcessAlive) => {
      const dueAt = later(this.monotonic(), ms);
      const timer: TestTimer = { dueAt, callback, keepsProcessAlive, native: undefined };
      this.pending.add(timer);
      this.arm(timer);
      return timer;
    },
    clear: (timer) => this.forget(timer as TestTimer),
  };

  private readonly pending = new Set<TestTimer>();
  private readonly startedAt = Math.ceil(performance.now());
  private readonly wallAtStart = Date.now();
  private skipped = 0;
  private advancing = Promise.resolve();

  /** @param frozen whether time stands still between calls of `advance` */
  constructor(private readonly frozen: boolean) {}

  monotonic(): MonotonicMs {
    return this.withSkipped(this.skipped);
  }

  wall(): WallClockMs {
    return ((this.frozen ? this.wallAtStart : Date.now()) + this.skipped) as WallClockMs;
  }

  /** Calls run one after the other; each starts at the time where the one before ended. */
  advance(ms: number): Promise<void> {
    this.advancing = this.advancing.then(() => this.advanceNow(ms));
    return this.advancing;
  }

  private async advanceNow(ms: number): Promise<void> {
    // Earlier calls of the test set their timers first.
    await turn();
    // Timers use whole ms: while time runs, one that is due by then may have been rounded up.
    const skipped = this.skipped + (this.frozen ? ms : ms + 1);
    for (;;) {
      const [next] = [...this.pending].sort((one, other) => one.dueAt - other.dueAt);
      // Computed anew each time: real time that passes meanwhile is added, since it also delays timers set meanwhile.
      if (next === undefined || next.dueAt > this.withSkipped(skipped)) break;
      this.skipped += Math.max(0, next.dueAt - this.monotonic());
      this.forget(next);
      next.callback();
      await turn();
    }
    this.skipped = skipped;
    for (const timer of this.pending) this.arm(timer);
    await turn();
  }

  private withSkipped(skipped: number): MonotonicMs {
    return ((this.frozen ? this.startedAt : performance.now()) + skipped) as MonotonicMs;
  }

  private arm(timer: TestTimer): void {
    clearTimeout(timer.native);
    timer.native = undefined;
    const left = timer.dueAt - this.monotonic();
    if (this.frozen && left > 0) return;
    timer.native = setTimeout(
      () => {
        this.forget(timer);
        timer.callback();
      },
      Math.max(0, Math.ceil(left)),
    );
    if (!timer.keepsProcessAlive) timer.native.unref();
  }

  private forget(timer: TestTimer): void {
    clearTimeout(timer.native);
    this.pending.delete(timer);
  }
}

/** Lets everything happen that is already due. */
function turn(): Promise<void> {
  return new Promise((resolve) => endOfTurn(resolve));
}
