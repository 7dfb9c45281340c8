/** Sections are grouped by the time of their end, since they are too many to send them one by one. */
export const SLICE_MS = 100;

/**
 * @typedef {Map<number, number>} LongestByTime the longest section that ended in each slice of `SLICE_MS`, ms
 * @typedef {{ from: number, to: number }} Wait on the monotonic clock of the machine
 */

/**
 * @param {LongestByTime} longest
 * @param {number} from
 * @param {number} to
 */
export function note(longest, from, to) {
  const slice = Math.floor(to / SLICE_MS);
  const took = to - from;
  if (took > (longest.get(slice) ?? 0)) longest.set(slice, took);
}

/**
 * @param {LongestByTime[]} all of several processes
 * @returns {LongestByTime}
 */
export function longestOf(all) {
  const result = new Map();
  for (const longest of all)
    for (const [slice, took] of longest) result.set(slice, Math.max(took, result.get(slice) ?? 0));
  return result;
}

/**
 * The longest section that ended in an interval.
 *
 * @param {LongestByTime} longest
 */
export function longestWithin(longest, from, to) {
  const [first, last] = [Math.floor(from / SLICE_MS), Math.floor(to / SLICE_MS)];
  const within = [...longest].filter(([slice]) => slice >= first && slice <= last);
  return Math.max(0, ...within.map(([, took]) => took));
}

/**
 * The number of waits longer than a bound plus the longest reader that ended during the wait.
 *
 * @param {Wait[]} waits
 * @param {LongestByTime} longest
 * @param {number} boundMs
 */
export function missesOf(waits, longest, boundMs) {
  return waits.filter(({ from, to }) => to - from > boundMs + longestWithin(longest, from, to)).length;
}
