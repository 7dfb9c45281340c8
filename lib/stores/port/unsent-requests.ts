/** Requests that their callers go on without as soon as they were sent. */
export class UnsentRequests {
  private readonly underWay = new Set<Promise<void>>();

  /** @returns to be called when it was sent, or will not be */
  begin(): () => void {
    const { underWay } = this;
    let resolve = (): void => undefined;
    const request = new Promise<void>((done) => {
      resolve = done;
    });
    underWay.add(request);
    return () => {
      underWay.delete(request);
      resolve();
    };
  }

  /** Resolves when those that are under way now were sent; undefined if none is. */
  get all(): Promise<unknown> | undefined {
    return this.underWay.size === 0 ? undefined : Promise.all(this.underWay);
  }
}
