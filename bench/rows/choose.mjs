/**
 * Selects the candidates of a load, without those that add no information.
 *
 * @param {{ floor?: boolean, ours?: string[], peers?: 'all' | 'tuned' }} wanted `ours`: variants of this library
 */
export function choose(candidates, { floor = false, ours = ['withLock'], peers = 'all' }) {
  return candidates.filter(({ kind, variant }) => {
    if (kind === 'floor') return floor;
    if (kind === 'ours') return ours.includes(variant);
    return peers === 'all' || variant === peers;
  });
}
