import { later } from '../../common/clock.js';
import type { Timer, TimerQueue } from '../../common/timer-queue.js';
import type { LockHandle } from '../../model/lock-handle.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { LeaseContext } from './leases.js';
import type { Lease, LeaseHolder } from './lease.js';

/** Handles that are held for long on purpose, such as those of leaders. */
const expected = new WeakSet();

/** Never reports this hold, however old it is. */
export function expectLongHold(handle: LockHandle): void {
  expected.add(handle);
}

/** Checks per limit: a hold is reported at most a twentieth of the limit late. */
const LOOKS = 20;

/** Reports every hold once it is older than the limit, with one timer for all. */
export class LongHolds implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private readonly reported = new WeakSet<LeaseHolder>();

  /** @param limit ms; `Infinity` for never */
  constructor(
    private readonly engine: LeaseContext,
    private readonly timers: TimerQueue,
    private readonly limit: number,
  ) {}

  watch(lease: Lease): void {
    if (this.heapIndex === -1 && this.limit !== Infinity) {
      this.timers.set(this, later(lease.startedAt, this.limit));
    }
  }

  /** There are no leases left. */
  rest(): void {
    if (this.heapIndex !== -1) this.timers.clear(this);
  }

  /** Holds older than the limit, oldest first. */
  get all(): readonly LeaseHolder[] {
    if (this.limit === Infinity) return [];
    const now = this.engine.clock.monotonic();
    const long: LeaseHolder[] = [];
    for (const lease of this.engine.leases.all) {
      for (const hold of lease.holders) {
        if (now - hold.heldFrom >= this.limit && !expected.has(hold)) long.push(hold);
      }
    }
    return long.sort((one, other) => one.heldFrom - other.heldFrom);
  }

  fire(now: MonotonicMs): void {
    for (const hold of this.all) {
      if (this.reported.has(hold)) continue;
      this.reported.add(hold);
      this.engine.reporter.heldForLong(hold, now - hold.heldFrom);
    }
    // Later holds may use the same lease.
    if (this.engine.leases.all.size > 0) this.timers.set(this, later(now, this.limit / LOOKS));
  }
}
