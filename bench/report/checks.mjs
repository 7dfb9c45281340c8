import { percent, short } from './numbers.mjs';

/**
 * One figure against its goal.
 *
 * @typedef {object} Check
 * @property {string} what
 * @property {string} measured
 * @property {string} goal
 * @property {number | null} ratio measured ÷ goal
 * @property {boolean | null} reached null: could not be measured, or is only information
 * @property {string} verdict
 */

function check(what, value, goal, { unit = '', sign, reached, missedBy, measured }) {
  const valid = typeof value === 'number' && !Number.isNaN(value);
  return {
    what,
    value: valid ? value : null,
    measured: measured ?? `${short(value)}${unit}`,
    goal: `${sign} ${short(goal)}${unit}`,
    ratio: valid && goal !== 0 ? value / goal : null,
    reached: valid && reached,
    verdict: !valid
      ? 'not measured'
      : reached
        ? 'reached'
        : goal === 0
          ? 'missed'
          : `missed by ${percent(missedBy)}`,
  };
}

/** @returns {Check} */
export function atLeast(what, value, goal, { unit, measured } = {}) {
  return check(what, value, goal, {
    unit,
    measured,
    sign: '≥',
    reached: value >= goal,
    missedBy: 1 - value / goal,
  });
}

/** @returns {Check} */
export function above(what, value, goal, { unit, measured } = {}) {
  return check(what, value, goal, {
    unit,
    measured,
    sign: '>',
    reached: value > goal,
    missedBy: 1 - value / goal,
  });
}

/** @returns {Check} */
export function atMost(what, value, goal, { unit, measured } = {}) {
  return check(what, value, goal, {
    unit,
    measured,
    sign: '≤',
    reached: value <= goal,
    missedBy: value / goal - 1,
  });
}

/** @returns {Check} a figure without a goal of its own */
export function information(what, measured, value = null) {
  return { what, value, measured, goal: '–', ratio: null, reached: null, verdict: '–' };
}

/**
 * How evenly callers were served.
 *
 * @param {string} which
 * @param {{ least: number, most: number, ratio: number, withoutAny: number }} turns
 * @param {number} goal
 * @returns {Check}
 */
export function mostToLeast(which, turns, goal) {
  const result = atMost(`${which}: most- ÷ least-served caller`, turns.ratio, goal, {
    measured: `${short(turns.ratio)} (${short(turns.least)}–${short(turns.most)})`,
  });
  return turns.withoutAny === 0
    ? result
    : { ...result, verdict: `missed: ${turns.withoutAny} callers had no turn` };
}
