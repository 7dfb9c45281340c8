import type { MonotonicMs } from '../stores/lock-store.js';
import type { Alarm } from './alarms.js';
import { later } from './clock.js';
import type { Hold } from './hold.js';
import type { LockEngine } from './lock-engine.js';

/** Keeps holds with a `leaseTime` from running out while further keys are waited for: it counts from when all are there. */
export class Upkeep implements Alarm {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private holds: readonly Hold[] = [];

  constructor(
    private readonly engine: LockEngine,
    private readonly leaseTime: number | undefined,
  ) {}

  /** Looks after these from now on, until the end. */
  of(holds: readonly Hold[]): void {
    this.holds = holds;
    if (this.heapIndex === -1) this.wait();
  }

  /** The last key is there: the others last as long from now on. Answers the failure if that could not be had. */
  async finish(): Promise<Error | undefined> {
    const { engine, leaseTime } = this;
    const earlier = this.holds.slice(0, -1).filter(({ isOver }) => !isOver);
    this.end();
    if (leaseTime === undefined) return undefined;
    try {
      await Promise.all(earlier.map(({ lease }) => engine.questions.extend(lease, leaseTime)));
      return undefined;
    } catch (error) {
      return error as Error; // the engine's own
    }
  }

  end(): void {
    this.holds = [];
    if (this.heapIndex !== -1) this.engine.waits.clear(this);
  }

  rings(): void {
    const { engine, leaseTime = 0 } = this;
    for (const { lease, isOver } of this.holds) {
      // What fails here is tried again, or found out when all are there.
      if (!isOver) engine.questions.extend(lease, leaseTime).catch(() => undefined);
    }
    this.wait();
  }

  private wait(): void {
    const { engine, leaseTime } = this;
    if (leaseTime !== undefined) engine.waits.set(this, later(engine.clock.monotonic(), leaseTime / 3));
  }
}
