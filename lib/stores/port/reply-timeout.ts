import { MIN_STALL } from './times.js';

/**
 * Calls back when an answer is due for too long, but not because this process was busy: what has arrived by then is read
 * first, and after the process stood still the answer has its whole time once more, since neither the request may have
 * left nor the answer been taken.
 */
export class ReplyTimeout {
  private timer: NodeJS.Timeout | undefined;
  private dueAt = 0;

  constructor(
    private readonly ms: number,
    private readonly onTimeout: () => void,
  ) {}

  start(): void {
    this.stop();
    this.wait(false);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private wait(hasBeenExtended: boolean): void {
    this.dueAt = performance.now() + this.ms;
    const timer = setTimeout(() => {
      const stoodStill = performance.now() - this.dueAt > MIN_STALL;
      // After what has arrived is known.
      setImmediate(() => {
        if (this.timer !== timer) return;
        // A process that stands still again and again would never give up.
        if (stoodStill && !hasBeenExtended) this.wait(true);
        else {
          this.timer = undefined;
          this.onTimeout();
        }
      });
    }, this.ms);
    this.timer = timer;
  }
}
