/** Counts calls that use locks and have not come to their end. */
export class CallsInFlight {
  private count = 0;
  private whenNone: (() => void)[] = [];

  get size(): number {
    return this.count;
  }

  begin(): void {
    this.count += 1;
  }

  end(): void {
    this.count -= 1;
    if (this.count > 0) return;
    for (const resolve of this.whenNone.splice(0)) resolve();
  }

  /** Resolves when there is none. */
  ended(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.whenNone.push(resolve);
    });
  }
}
