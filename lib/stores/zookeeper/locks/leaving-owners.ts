/** What is under way to take owners out of lines, by key. */
export class LeavingOwners {
  private readonly byKey = new Map<string, Set<Promise<unknown>>>();

  /** Answers what that work does, which counts as under way until then. */
  async leave<T>(key: string, work: Promise<T>): Promise<T> {
    const { byKey } = this;
    let leaving = byKey.get(key);
    if (leaving === undefined) byKey.set(key, (leaving = new Set()));
    leaving.add(work);
    try {
      return await work;
    } finally {
      leaving.delete(work);
      if (leaving.size === 0 && byKey.get(key) === leaving) byKey.delete(key);
    }
  }

  /** Resolves when all that is under way for a key now has come to its end; undefined if nothing is. */
  of(key: string): Promise<unknown> | undefined {
    const leaving = this.byKey.get(key);
    return leaving && Promise.allSettled(leaving);
  }

  /** The same for all keys. */
  get all(): Promise<unknown> | undefined {
    if (this.byKey.size === 0) return undefined;
    return Promise.allSettled([...this.byKey.values()].flatMap((leaving) => [...leaving]));
  }
}
