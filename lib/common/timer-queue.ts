import type { HeapItem } from './indexed-heap.js';
import { MostlyOrderedQueue } from './mostly-ordered-queue.js';
import type { LockTimers, MonotonicMs } from '../stores/port/lock-store.js';
import { later, LONGEST_TIME, systemTimers, type Clock } from './clock.js';
import { OwnContext } from './own-context.js';

/** Something that is due at a time. `fire` is called once, when that time has come. */
export interface Timer extends HeapItem {
  dueAt: MonotonicMs;
  fire(now: MonotonicMs): void;
}

/** Many timers on one native timer. */
export class TimerQueue {
  private readonly queue = new MostlyOrderedQueue<Timer>((timer) => timer.dueAt);
  private readonly timers: LockTimers;
  private timer: unknown;
  private timerAt = Infinity;
  private readonly context = new OwnContext();

  /**
   * @param keepsProcessAlive whether a pending timer is a reason for the process not to exit
   * @param slack ms by which an timer may ring early to go along with one that is due
   */
  constructor(
    private readonly clock: Clock,
    private readonly keepsProcessAlive: boolean,
    private readonly slack = 0,
  ) {
    this.timers = clock.timers ?? systemTimers;
  }

  /** Sets an timer, or moves it if it is set already. */
  set(timer: Timer, dueAt: MonotonicMs): void {
    this.queue.remove(timer);
    timer.dueAt = dueAt;
    this.queue.push(timer);
    if (dueAt < this.timerAt) this.arm();
  }

  clear(timer: Timer): void {
    this.queue.remove(timer);
    if (this.queue.size === 0) this.disarm();
  }

  get size(): number {
    return this.queue.size;
  }

  /** Resolves with `work`, but no later than in `ms`. */
  async within(ms: number, work: Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve) => {
      const reminder = new CallbackTimer(() => {
        resolve();
      });
      this.set(reminder, later(this.clock.monotonic(), ms));
      const done = (): void => {
        this.clear(reminder);
        resolve();
      };
      work.then(done, done);
    });
  }

  private arm(): void {
    const next = this.queue.peek();
    this.disarm();
    if (next === undefined) return;
    // Node's timers count whole milliseconds and may fire a fraction early.
    const delay = Math.ceil(Math.min(Math.max(next.dueAt - this.clock.monotonic(), 0), LONGEST_TIME));
    this.timerAt = next.dueAt;
    this.timer = this.context.call(this.startTimer, delay);
  }

  private disarm(): void {
    if (this.timer !== undefined) this.timers.clear(this.timer);
    this.timer = undefined;
    this.timerAt = Infinity;
  }

  private readonly startTimer = (delay: number): unknown =>
    this.timers.set(this.ring, delay, this.keepsProcessAlive);

  private readonly ring = (): void => {
    this.disarm();
    const now = this.clock.monotonic();
    const until = now + this.slack;
    try {
      for (
        let next = this.queue.peek();
        next !== undefined && next.dueAt <= until;
        next = this.queue.peek()
      ) {
        this.queue.remove(next);
        next.fire(now);
      }
    } finally {
      // Whatever one of them threw, the others must ring.
      this.arm();
    }
  };
}

/** An timer that calls a function. */
export class CallbackTimer implements Timer {
  heapIndex = -1;
  dueAt = 0 as MonotonicMs;

  constructor(readonly fire: (now: MonotonicMs) => void) {}
}
