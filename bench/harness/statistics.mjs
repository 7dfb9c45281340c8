/**
 * @typedef {object} Spread
 * @property {number} median
 * @property {number} min
 * @property {number} max
 */

/** The value below which a share of the values lies. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) return NaN;
  const position = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]];
  // The distance of two infinite values is not a number.
  return below === above ? below : below + (above - below) * (position % 1);
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
