/**
 * Measures all candidates in each round, so that other load on the machine affects all of them equally. The order rotates
 * by one position per round. Discards the results of the warm-up.
 *
 * @template C, R
 * @param {object} order
 * @param {C[]} order.candidates
 * @param {number} order.rounds
 * @param {(candidate: C) => Promise<unknown>} [order.warmUp]
 * @param {() => Promise<unknown>} [order.whenWarm] called after the warm-up of all candidates
 * @param {(candidate: C, round: number) => Promise<R>} order.measure
 * @returns {Promise<Map<C, R[]>>} the results of each candidate
 */
export async function interleaved({ candidates, rounds, warmUp, whenWarm, measure }) {
  const results = new Map(candidates.map((candidate) => [candidate, []]));
  if (warmUp) for (const candidate of candidates) await warmUp(candidate);
  await whenWarm?.();
  for (let round = 0; round < rounds; round++) {
    for (let place = 0; place < candidates.length; place++) {
      const candidate = candidates[(place + round) % candidates.length];
      results.get(candidate).push(await measure(candidate, round));
    }
  }
  return results;
}
