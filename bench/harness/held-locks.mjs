/** Locks that a process acquires at the same time in order to hold many. */
const ACQUIRED_AT_ONCE = 200;

/** Many locks of one candidate that are held until they are released together. */
export class HeldLocks {
  #end = () => undefined;
  #held = Promise.resolve([]);

  /** @param {import('../candidates/candidates.mjs').OpenCandidate} candidate */
  constructor(candidate) {
    this.candidate = candidate;
  }

  /** Holds so many locks, each with its own key. Resolves when it has all of them. */
  async hold(label, count) {
    const ended = new Promise((resolve) => (this.#end = resolve));
    const holds = [];
    const holdOne = (key) =>
      new Promise((resolve, reject) => {
        const section = () => {
          resolve();
          return ended;
        };
        const holding = this.candidate.withLock(key, section);
        holding.catch(reject);
        holds.push(holding);
      });
    for (let first = 0; first < count; first += ACQUIRED_AT_ONCE) {
      const some = Math.min(ACQUIRED_AT_ONCE, count - first);
      await Promise.all(
        Array.from({ length: some }, (_, index) => holdOne(`${label}:${process.pid}:${first + index}`)),
      );
    }
    this.#held = Promise.allSettled(holds);
  }

  /** Returns how many of them were lost. */
  async release() {
    this.#end();
    const results = await this.#held;
    this.#held = Promise.resolve([]);
    return results.filter(({ status }) => status === 'rejected').length;
  }
}
