import { median } from '../harness/statistics.mjs';

/**
 * @typedef {object} Ratio how much better this build is than the other: 2 is twice as good, 0.5 half as good
 * @property {number} median of the rounds
 * @property {number} min
 * @property {number} max
 */

/**
 * Compares samples pair by pair: the two of a round were taken one after the other, so that what disturbs the machine
 * for longer than that meets both.
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

/** Two that are both nothing are alike. */
function quotient(one, other) {
  return one === other ? 1 : one / other;
}

/** Below this a build has lost so much that no busy machine explains it. */
export const LEAST_RATIO = 0.5;
export const TRIES = 3;

/**
 * What to do after some tries: a machine with other work can spoil one, and what is really slower is so in all.
 *
 * @param {number[]} tries the ratio of each
 * @returns {'good' | 'again' | 'slower'}
 */
export function judge(tries) {
  if (tries.some((ratio) => ratio >= LEAST_RATIO)) return 'good';
  return tries.length < TRIES ? 'again' : 'slower';
}
