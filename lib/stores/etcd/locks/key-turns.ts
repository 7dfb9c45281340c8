import { Turns } from '../../port/turns.js';

/**
 * Lets what is asked about a key be carried out in the order of the calls: requests on one connection overtake each other,
 * and what is asked about a key often takes several.
 */
export class KeyTurns extends Turns<string> {
  /** Like `run` for several keys: nothing else is under way for any of them. */
  async runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = keys.flatMap((key) => this.last.get(key) ?? []);
    const running = before.length === 0 ? work() : Promise.allSettled(before).then(work);
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
    const last = Promise.allSettled(before === undefined ? [running] : [before, running]).finally(() => {
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
