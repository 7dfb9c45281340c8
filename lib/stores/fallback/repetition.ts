/** How long after one attempt the next one follows, ms. */
const PAUSE = 1_000;

/** Something that is tried once a second until it is done. Keeps no process alive. */
export class Repetition {
  private timer: NodeJS.Timeout | undefined;
  private isRunning = false;
  private isOver = false;

  /** @param attempt whether it is done; never rejects */
  constructor(private readonly attempt: () => Promise<boolean>) {}

  /** Tries for the first time in a second, unless an attempt is due or under way. */
  later(): void {
    if (this.isOver || this.isRunning || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      void this.now();
    }, PAUSE);
    this.timer.unref();
  }

  /** Tries now, unless an attempt is under way. */
  async now(): Promise<void> {
    if (this.isOver || this.isRunning) return;
    this.clear();
    this.isRunning = true;
    const isDone = await this.attempt();
    this.isRunning = false;
    if (!isDone) this.later();
  }

  stop(): void {
    this.isOver = true;
    this.clear();
  }

  private clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
