import { percent, short } from './numbers.mjs';

/**
 * A figure and its goal.
 *
 * @typedef {object} Check
 * @property {string} what
 * @property {string} measured
 * @property {string} goal
 * @property {number | null} ratio measured ÷ goal
 * @property {boolean | null} reached null: a figure without a goal
 * @property {string} verdict
 */

function check(what, value, sign, goal, { unit = '', measured = `${short(value)}${unit}` } = {}) {
  const valid = typeof value === 'number' && !Number.isNaN(value);
  const reached = { '≥': value >= goal, '>': value > goal, '≤': value <= goal }[sign];
  const missedBy = sign === '≤' ? value / goal - 1 : 1 - value / goal;
  const missed = goal === 0 ? 'missed' : `missed by ${percent(missedBy)}`;
  return {
    what,
    measured,
    goal: `${sign} ${short(goal)}${unit}`,
    ratio: valid && goal !== 0 ? value / goal : null,
    reached: valid && reached,
    verdict: !valid ? 'not measured' : reached ? 'reached' : missed,
  };
}

/** @returns {Check} */
export const atLeast = (what, value, goal, text) => check(what, value, '≥', goal, text);

/** @returns {Check} */
export const above = (what, value, goal, text) => check(what, value, '>', goal, text);

/** @returns {Check} */
export const atMost = (what, value, goal, text) => check(what, value, '≤', goal, text);

/** @returns {Check} a figure without a goal */
export function information(what, measured) {
  return { what, measured, goal: '–', ratio: null, reached: null, verdict: '–' };
}

/** How evenly callers were served: the turns of the most-served caller divided by those of the least-served. */
export function mostToLeast(which, turns, goal) {
  const result = atMost(`${which}: most- ÷ least-served caller`, turns.ratio, goal, {
    measured: `${short(turns.ratio)} (${short(turns.least)}–${short(turns.most)})`,
  });
  return turns.withoutAny === 0
    ? result
    : { ...result, verdict: `missed: ${turns.withoutAny} callers had no turn` };
}
