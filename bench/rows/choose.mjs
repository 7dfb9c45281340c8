/**
 * The candidates of a load, so that nothing is measured twice that says the same.
 *
 * @param {import('../candidates/candidates.mjs').Candidate[]} candidates
 * @param {{ floor?: boolean, ours?: string[], peers?: 'all' | 'tuned' }} wanted `ours`: what is called
 */
export function choose(candidates, { floor = false, ours = ['withLock'], peers = 'all' }) {
  return candidates.filter(({ kind, variant }) => {
    if (kind === 'floor') return floor;
    if (kind === 'ours') return ours.includes(variant);
    return peers === 'all' || variant === peers;
  });
}
