import { median } from '../harness/statistics.mjs';

/**
 * @typedef {object} Ratio how much better this build is than the other: 2 is twice as good, 0.5 half as good
 * @property {number} median of the rounds
 * @property {number} min
 * @property {number} max
 */

/**
 * Compares samples pair by pair. The samples of a pair were taken in the same round, so that other load on the machine
 * affects both.
 *
 * @param {number[]} now
 * @param {number[]} then
 * @param {'more' | 'less'} better
 * @returns {Ratio}
 */
export function ratioOf(now, then, better) {
  const ratios = now.map((value, round) =>
    better === 'more' ? quotient(value, then[round]) : quotient(then[round], value),
  );
  return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
}

/** 1 for equal values, also for two zeros. */
function quotient(one, other) {
  return one === other ? 1 : one / other;
}

/** A lower ratio can no longer be explained by other load on the machine. */
export const LEAST_RATIO = 0.5;
export const TRIES = 3;

/**
 * Judges several attempts. Other load on the machine can spoil one; a real regression shows in all.
 *
 * @param {number[]} tries the ratio of each attempt
 * @returns {'good' | 'again' | 'slower'}
 */
export function judge(tries) {
  if (tries.some((ratio) => ratio >= LEAST_RATIO)) return 'good';
  return tries.length < TRIES ? 'again' : 'slower';
}
