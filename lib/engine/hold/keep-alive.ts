import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { Timer } from '../../common/timer-queue.js';
import { later } from '../../common/clock.js';
import type { Hold } from './hold.js';
import type { EngineContext } from '../context.js';

/** What is left of a lease, of its whole, when it has to be renewed; and when it goes along with one that has to be. */
const DUE = 2 / 3;
const NEARLY_DUE = 5 / 6;

/** Keeps holds with a `leaseTime` from running out while further keys are waited for: it counts from when all are there. */
export class KeepAlive implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private holds: readonly Hold[] = [];

  constructor(
    private readonly engine: EngineContext,
    private readonly leaseTime: number | undefined,
  ) {}

  /** Looks after these from now on, until the end. */
  of(holds: readonly Hold[]): void {
    this.holds = holds;
    if (this.leaseTime !== undefined && this.heapIndex === -1) this.wait(this.leaseTime, 0);
  }

  end(): void {
    this.holds = [];
    if (this.heapIndex !== -1) this.engine.timers.clear(this);
  }

  fire(now: MonotonicMs): void {
    const { engine, holds, leaseTime = 0 } = this;
    const due = holds
      .filter(({ isOver }) => !isOver)
      .map(({ lease }) => lease)
      .filter((lease) => engine.leases.sureFor(lease, now) < leaseTime * NEARLY_DUE);
    // What fails here is tried again, or found out when all are there.
    void engine.leases.extend(due, leaseTime);
    this.wait(leaseTime, leaseTime * NEARLY_DUE);
  }

  /** Until the next of them is due. Those with less than `renewed` left are being renewed. */
  private wait(leaseTime: number, renewed: number): void {
    const { engine, holds } = this;
    const now = engine.clock.monotonic();
    let pause = leaseTime * (1 - DUE);
    for (const { lease, isOver } of holds) {
      const left = isOver ? 0 : engine.leases.sureFor(lease, now);
      if (left > 0 && left >= renewed) pause = Math.min(pause, left - leaseTime * DUE);
    }
    engine.timers.set(this, later(now, Math.max(pause, 1)));
  }
}
