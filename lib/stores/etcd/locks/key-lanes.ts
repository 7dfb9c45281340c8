/**
 * Lets what is asked about a key be carried out in the order of the calls: requests on one connection overtake each other,
 * and what is asked about a key often takes several.
 */
export class KeyLanes {
  /** The last of each key. */
  private readonly last = new Map<string, Promise<unknown>>();

  /** Begins at once if nothing else is under way for the key. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.runAll([key], work);
  }

  /** The same for several keys: nothing else is under way for any of them. */
  async runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = keys.flatMap((key) => this.last.get(key) ?? []);
    const running = before.length === 0 ? work() : afterAll(before).then(work);
    for (const key of keys) this.last.set(key, running);
    try {
      return await running;
    } finally {
      for (const key of keys) if (this.last.get(key) === running) this.last.delete(key);
    }
  }

  /** Begins at once, for what need not wait for anything that is under way; what comes later waits for all of it. */
  beside<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(key);
    const running = work();
    const last = afterAll(before === undefined ? [running] : [before, running]).finally(() => {
      if (this.last.get(key) === last) this.last.delete(key);
    });
    this.last.set(key, last);
    return running;
  }

  /** That which came last for the key, by which one sees whether anything has come since. */
  lastOf(key: string): unknown {
    return this.last.get(key);
  }
}

async function afterAll(before: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(before);
}
