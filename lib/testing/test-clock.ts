import { setImmediate as realSetImmediate } from 'node:timers';
import { later } from '../common/clock.js';
import type { LockClock, LockTimers, MonotonicMs, WallClockMs } from '../stores/port/lock-store.js';

// Kept, so that a test may have fake timers beside this clock.
const endOfTurn = realSetImmediate;

interface TestTimer {
  readonly dueAt: MonotonicMs;
  readonly callback: () => void;
  readonly keepsProcessAlive: boolean;
  /** Rings by itself where time runs by itself, too. */
  native: NodeJS.Timeout | undefined;
}

/** Time that a test moves ahead. Between that it runs as usual, or stands still. */
export class TestClock implements LockClock {
  readonly timers: LockTimers = {
    set: (callback, ms, keepsProcessAlive) => {
      const dueAt = later(this.monotonic(), ms);
      const timer: TestTimer = { dueAt, callback, keepsProcessAlive, native: undefined };
      this.pending.add(timer);
      this.arm(timer);
      return timer;
    },
    clear: (timer) => {
      this.forget(timer as TestTimer);
    },
  };

  private readonly pending = new Set<TestTimer>();
  private readonly startedAt = Math.ceil(performance.now());
  private readonly wallAtStart = Date.now();
  private skipped = 0;
  private moving = Promise.resolve();

  /** @param frozen whether time stands still while it is not moved */
  constructor(private readonly frozen: boolean) {}

  monotonic(): MonotonicMs {
    return this.withSkipped(this.skipped);
  }

  wall(): WallClockMs {
    return ((this.frozen ? this.wallAtStart : Date.now()) + this.skipped) as WallClockMs;
  }

  /** One movement after the other: each begins where the one before has ended. */
  advance(ms: number): Promise<void> {
    this.moving = this.moving.then(() => this.move(ms));
    return this.moving;
  }

  private async move(ms: number): Promise<void> {
    // What was asked for before has its timers first.
    await turn();
    // Timers count whole ms: one that is due by then may have been rounded up, from a time that is not whole.
    const skipped = this.skipped + (this.frozen ? ms : ms + 1);
    // Time that runs meanwhile comes on top: a timer that is set late, by a process that had to wait, is late by it, too.
    for (
      let next = this.earliest();
      next !== undefined && next.dueAt <= this.withSkipped(skipped);
      next = this.earliest()
    ) {
      this.skipTo(next.dueAt);
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

  private skipTo(time: MonotonicMs): void {
    this.skipped += Math.max(0, time - this.monotonic());
  }

  private earliest(): TestTimer | undefined {
    let earliest: TestTimer | undefined;
    for (const timer of this.pending) {
      if (earliest === undefined || timer.dueAt < earliest.dueAt) earliest = timer;
    }
    return earliest;
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

/** Lets everything happen that is due now and waits for nothing else. */
function turn(): Promise<void> {
  return new Promise((resolve) => endOfTurn(resolve));
}
