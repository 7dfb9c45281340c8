import type { Hold } from '../support/worker-process.js';

export interface DoubledHolds {
  /** Pairs whose later hold has the larger token: a fenced resource rejects the earlier one. */
  readonly fenced: number;
  /** Pairs that tokens do not detect. */
  readonly unfenced: number;
}

/** Counts pairs of holders that both believed to have the same lock at the same time. */
export function doubledHolds(holds: readonly Pick<Hold, 'key' | 'token' | 'from' | 'to'>[]): DoubledHolds {
  const doubled = { fenced: 0, unfenced: 0 };
  const openByKey = new Map<string, (typeof holds)[number][]>();
  for (const hold of [...holds].sort((one, other) => one.from - other.from)) {
    const open = (openByKey.get(hold.key) ?? []).filter(({ to }) => to > hold.from);
    for (const earlier of open) doubled[hold.token > earlier.token ? 'fenced' : 'unfenced'] += 1;
    openByKey.set(hold.key, [...open, hold]);
  }
  return doubled;
}
