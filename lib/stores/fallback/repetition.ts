/** How long after one attempt the next one follows, ms. */
const PAUSE = 1_000;

/** Something that is tried once a second until it is done. Keeps no process alive. */
export class Repetition {
  private timer: NodeJS.Timeout | undefined;
  private isRunning = false;
  /** What was asked for while an attempt was under way, which may have begun too early to see why. */
  private wanted: 'now' | 'later' | undefined;
  private isOver = false;

  /** @param attempt whether it is done; never rejects */
  constructor(private readonly attempt: () => Promise<boolean>) {}

  /** Tries in a second, unless an attempt is due before; if one is under way, in a second from its end. */
  later(): void {
    if (this.isOver || this.timer !== undefined) return;
    if (this.isRunning) {
      this.wanted ??= 'later';
      return;
    }
    this.timer = setTimeout(() => {
      void this.now();
    }, PAUSE);
    this.timer.unref();
  }

  /** Tries now, or once more as soon as the attempt that is under way has come to its end. */
  async now(): Promise<void> {
    if (this.isOver) return;
    if (this.isRunning) {
      this.wanted = 'now';
      return;
    }
    this.clear();
    this.isRunning = true;
    const isDone = await this.attempt();
    this.isRunning = false;
    const { wanted } = this;
    this.wanted = undefined;
    if (wanted === 'now') await this.now();
    else if (!isDone || wanted === 'later') this.later();
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
