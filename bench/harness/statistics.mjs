/**
 * @typedef {object} Spread
 * @property {number} median
 * @property {number} min
 * @property {number} max
 */

/** The value below which the given share of the values lies. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) return NaN;
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)];
  return below + (sorted[Math.ceil(position)] - below) * (position % 1);
}

export function median(values) {
  return quantile(values, 0.5);
}

/** @returns {Spread} */
export function spreadOf(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

export function mean(values) {
  return sum(values) / values.length;
}
