/** What is under way to give locks and places back, by key: a store that serves requests side by side may do it last. */
export class PendingReleases {
  private readonly byKey = new Map<string, Set<Promise<unknown>>>();

  /** Answers what that work does, which counts as under way until then. */
  async track<T>(key: string, work: Promise<T>): Promise<T> {
    const { byKey } = this;
    let pending = byKey.get(key);
    if (pending === undefined) byKey.set(key, (pending = new Set()));
    pending.add(work);
    try {
      return await work;
    } finally {
      pending.delete(work);
      if (pending.size === 0 && byKey.get(key) === pending) byKey.delete(key);
    }
  }

  /** Resolves when all that is under way for a key now has come to its end; undefined if nothing is. */
  of(key: string): Promise<unknown> | undefined {
    const pending = this.byKey.get(key);
    return pending && Promise.allSettled(pending);
  }
}
