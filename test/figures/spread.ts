export interface Spread {
  readonly count: number;
  readonly median: number;
  readonly p99: number;
  readonly longest: number;
}

/** Summarises many times, ms. */
export function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share: number): number => rounded(sorted[Math.ceil(share * sorted.length) - 1] ?? NaN);
  return { count: sorted.length, median: at(0.5), p99: at(0.99), longest: at(1) };
}

/** To µs, the useful precision. */
export function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
