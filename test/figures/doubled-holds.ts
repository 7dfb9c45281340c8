import type { Hold } from './hold.js';

export interface DoubledHolds {
  /** Pairs of holds of one key at the same time whose later one has the larger token: a fenced resource refuses the other. */
  readonly fenced: number;
  /** Pairs of which a token would not tell. */
  readonly unfenced: number;
}

/** Pairs of holds that both believed to have the same lock at the same time. */
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
