import { Fleet } from '../harness/fleet.mjs';
import { mean, median, spreadOf, sum } from '../harness/statistics.mjs';
import { atLeast } from '../report/checks.mjs';
import { times } from '../report/numbers.mjs';

/**
 * @typedef {import('../candidates/candidates.mjs').Candidate} Candidate
 *
 * @typedef {object} Measured a candidate under a load
 * @property {Candidate} candidate
 * @property {string} version
 * @property {import('../harness/statistics.mjs').Spread} perSecond holds
 * @property {number} failed in all rounds
 * @property {{ least: number, most: number, ratio: number, withoutAny: number }} turns of the callers, over all rounds
 * @property {number} maxWait the longest wait of all rounds, ms
 * @property {number | null} meanSection ms
 * @property {number} mostAtOnce of all rounds
 * @property {Record<string, number | null>} commands counters of the server per hold, median
 * @property {{ client: number | null, server: number | null }} micros µs of processor time per hold, median
 */

/** Opens fleets of all candidates, and closes them after `use`. */
export async function withFleets(context, { row, candidates, processes, sharing, url = context.url }, use) {
  const { progress } = context;
  const fleets = [];
  try {
    progress(row, `starting ${candidates.length} × ${processes} process${processes === 1 ? '' : 'es'}`);
    for (const candidate of candidates) {
      const fleet = new Fleet(candidate, processes, url, sharing);
      fleets.push(fleet);
      await fleet.open();
    }
    return await use(fleets);
  } finally {
    await Promise.all(fleets.map((fleet) => fleet.close()));
  }
}

/**
 * Runs one load on all fleets, in interleaved rounds. Calls `whenWarm` after the warm-up. `workers` is the number of callers
 * of candidates without a lock, which show the upper limit of a semaphore with as many permits.
 */
export async function measureLoad(
  { stats, progress, quick },
  fleets,
  { row, rounds, warmUpMs = 300, whenWarm, leadMs = 0, workers, ...plan },
) {
  const durationMs = quick ? Math.min(plan.durationMs, 250) : plan.durationMs;
  const count = quick ? 1 : rounds;
  const planOf = ({ candidate }) =>
    candidate.kind === 'ideal' && workers !== undefined ? { ...plan, callers: workers } : plan;
  const results = await interleaved({
    candidates: fleets,
    rounds: count,
    warmUp:
      quick || warmUpMs === 0
        ? undefined
        : (fleet) => fleet.run({ ...planOf(fleet), durationMs: warmUpMs }, stats),
    whenWarm,
    async measure(fleet, round) {
      // A short round must not start with an idle process.
      if (leadMs > 0 && !quick)
        await fleet.run({ ...planOf(fleet), turnsPerCaller: undefined, durationMs: leadMs }, stats);
      const result = await fleet.run({ ...planOf(fleet), durationMs }, stats);
      const { label } = fleet.candidate;
      progress(row, `round ${round + 1}/${count}  ${label}  ${Math.round(result.perSecond)}/s`);
      return result;
    },
  });
  return [...results].map(([fleet, samples]) => summarize(fleet, samples));
}

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

/** @returns {Measured} */
function summarize({ candidate, version }, results) {
  const turns = results[0].turns.map((_, caller) => sum(results.map((result) => result.turns[caller])));
  const [least, most] = [Math.min(...turns), Math.max(...turns)];
  const sections = results.map(({ meanSection }) => meanSection).filter((value) => value !== null);
  return {
    candidate,
    version,
    perSecond: spreadOf(results.map(({ perSecond }) => perSecond)),
    failed: sum(results.map(({ failed }) => failed)),
    turns: {
      least,
      most,
      ratio: least === 0 ? Infinity : most / least,
      withoutAny: turns.filter((count) => count === 0).length,
    },
    maxWait: Math.max(...results.map(({ maxWait }) => maxWait)),
    meanSection: sections.length === 0 ? null : mean(sections),
    mostAtOnce: Math.max(...results.map(({ mostAtOnce }) => mostAtOnce)),
    commands: mediansOf(results.map(({ commands }) => commands)),
    micros: mediansOf(results.map(({ micros }) => micros)),
  };
}

/** The median of each figure. Rounds without holds have no figures. */
function mediansOf(samples) {
  return Object.fromEntries(
    Object.keys(samples[0]).map((name) => [
      name,
      median(samples.map((sample) => sample[name]).filter((value) => value !== null)),
    ]),
  );
}

export function only(measured, kind) {
  return measured.filter(({ candidate }) => candidate.kind === kind);
}

/** This library, called as most users do. */
export function ours(measured) {
  return only(measured, 'ours')[0];
}

/** The peer with the most holds per second, with any settings. */
export function bestPeer(measured) {
  return only(measured, 'peer').reduce((best, peer) =>
    peer.perSecond.median > best.perSecond.median ? peer : best,
  );
}

/**
 * Checks the rate of this library against that of the best peer.
 *
 * @param {string} prefix of the text of the check
 */
export function againstBestPeer(prefix, measured, goal, check = atLeast) {
  const peer = bestPeer(measured);
  const ratio = perSecondRatio(ours(measured), peer);
  return check(`${prefix}÷ best peer, ${peer.candidate.label}`, ratio, goal, { measured: times(ratio) });
}

export function perSecondRatio(one, other) {
  return one.perSecond.median / other.perSecond.median;
}
