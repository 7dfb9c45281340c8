/** A generator of pseudo-random numbers (mulberry32): the same seed gives the same sequence. */
export class Random {
  #state;

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** @returns {number} from 0 (inclusive) to 1 (exclusive) */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** @param {number} share 0 … 1 */
  chance(share) {
    return this.next() < share;
  }

  /** @returns {number} a whole number, both bounds included */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /**
   * @template T
   * @param {readonly T[]} choices
   * @returns {T}
   */
  pick(choices) {
    return choices[this.between(0, choices.length - 1)];
  }

  /**
   * @template T
   * @param {readonly (readonly [weight: number, choice: T])[]} choices
   * @returns {T}
   */
  weighted(choices) {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    return choices[choices.length - 1][1];
  }
}
