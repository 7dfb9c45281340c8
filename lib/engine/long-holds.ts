import { type Clock, later } from '../common/clock.js';
import type { LinkedQueue } from '../common/linked-queue.js';
import type { Timer, TimerQueue } from '../common/timer-queue.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import type { LockReporter } from './report/lock-reporter.js';
import type { Ticket, TicketUser } from './ticket.js';

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
  private readonly reported = new WeakSet<TicketUser>();

  /** @param limit ms; `Infinity` for never */
  constructor(
    private readonly held: LinkedQueue<Ticket>,
    private readonly clock: Clock,
    private readonly reporter: LockReporter,
    private readonly timers: TimerQueue,
    private readonly limit: number,
  ) {}

  watch(ticket: Ticket): void {
    if (this.heapIndex === -1 && this.limit !== Infinity) {
      this.timers.set(this, later(ticket.startedAt, this.limit));
    }
  }

  /** No tickets are held. */
  rest(): void {
    if (this.heapIndex !== -1) this.timers.clear(this);
  }

  /** Holds older than the limit, oldest first. */
  get all(): readonly TicketUser[] {
    if (this.limit === Infinity) return [];
    const now = this.clock.monotonic();
    const long: TicketUser[] = [];
    for (const ticket of this.held) {
      for (const hold of ticket.holders) {
        if (now - hold.heldFrom >= this.limit && !expected.has(hold)) long.push(hold);
      }
    }
    return long.sort((one, other) => one.heldFrom - other.heldFrom);
  }

  fire(now: MonotonicMs): void {
    for (const hold of this.all) {
      if (this.reported.has(hold)) continue;
      this.reported.add(hold);
      this.reporter.heldForLong(hold, now - hold.heldFrom);
    }
    // Later holds may use the same ticket.
    if (this.held.size > 0) this.timers.set(this, later(now, this.limit / LOOKS));
  }
}
