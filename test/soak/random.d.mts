/** A generator of pseudo-random numbers: the same seed gives the same sequence. */
export declare class Random {
  constructor(seed: number);
  next(): number;
  chance(share: number): boolean;
  between(low: number, high: number): number;
  pick<T>(choices: readonly T[]): T;
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T;
}
