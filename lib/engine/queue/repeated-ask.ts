import { later } from '../../common/clock.js';
import type { Timer } from '../../common/timer-queue.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';

/** What asks again and again, with a pause in between that can be cut short. */
export abstract class RepeatedAsk implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private isPausing = false;
  /** Whether the next pause is not to begin. */
  private isAwake = false;

  constructor(protected readonly context: EngineContext) {}

  abstract goOn(): void;

  /** Ends the pause, or the next one if there is none now. */
  wake(): void {
    if (!this.isPausing) {
      this.isAwake = true;
      return;
    }
    this.context.timers.clear(this);
    this.fire();
  }

  /** The pause is over. */
  fire(): void {
    this.isPausing = false;
    this.goOn();
  }

  pause(ms: number): void {
    if (this.isAwake) {
      this.isAwake = false;
      this.goOn();
      return;
    }
    this.isPausing = true;
    this.context.timers.set(this, later(this.context.clock.monotonic(), ms));
  }
}
