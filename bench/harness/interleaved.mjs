/**
 * Measures all candidates one after another, again and again, so that whatever disturbs the machine meets all of them.
 * The order is turned by one place each round; the warm-up is not kept.
 *
 * @template C, R
 * @param {object} order
 * @param {C[]} order.candidates
 * @param {number} order.rounds
 * @param {(candidate: C) => Promise<unknown>} [order.warmUp]
 * @param {() => Promise<unknown>} [order.whenWarm] called when all have warmed up
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
