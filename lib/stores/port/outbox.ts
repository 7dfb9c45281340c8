/** Sends the requests of one tick together, at its end. While too many have no reply, the others wait. */
export class Outbox {
  private isScheduled = false;
  /** Requests without a reply. */
  private underWay = 0;

  /**
   * @param most requests without a reply
   * @param sendNext sends one request, and calls `ended` once it has a reply; false if there is none to count
   */
  constructor(
    private readonly most: number,
    private readonly sendNext: (ended: () => void) => boolean,
  ) {}

  get isFull(): boolean {
    return this.underWay >= this.most;
  }

  /** There is something to send. */
  schedule(): void {
    if (this.isScheduled || this.isFull) return;
    this.isScheduled = true;
    process.nextTick(this.flush);
  }

  /** Sends without waiting for the end of the tick. */
  readonly flush = (): void => {
    this.isScheduled = false;
    while (!this.isFull && this.sendNext(this.ended)) this.underWay += 1;
  };

  private readonly ended = (): void => {
    this.underWay -= 1;
    this.schedule();
  };
}
