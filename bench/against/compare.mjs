import { spreadOf } from '../harness/statistics.mjs';
import { short, spreadText, times } from '../report/numbers.mjs';
import { table } from '../report/table.mjs';

/** A lower ratio can no longer be explained by other load on the machine. */
export const LEAST_RATIO = 0.5;

const SIDES = ['now', 'then'];

/**
 * @typedef {import('../rows/gauges.mjs').Gauge} Gauge
 * @typedef {import('../harness/statistics.mjs').Spread} Spread
 *
 * @typedef {{ now: Spread, then: Spread, ratio: Spread }} Compared `ratio`: how much better this build is; 2 is twice as good,
 *   0.5 half as good
 */

/**
 * Measures this build and another one in alternating rounds, and prints the comparison.
 *
 * @param {object} context of the gauges
 * @param {string} build URL of the other build
 * @param {{ then: string, rounds: number, tries?: number, endsAt?: number }} how `then`: the name of the other build; `tries`:
 *   how often a figure below `LEAST_RATIO` is measured; `endsAt`: no gauge is measured later than this
 * @returns {Promise<string[]>} the names of the figures below `LEAST_RATIO` in all tries
 */
export async function compare(gauges, context, build, { then, rounds, tries = 1, endsAt = Infinity }, log) {
  const [lines, skipped, slower] = [[], [], []];
  for (const [name, gauge] of gauges) {
    if (performance.now() > endsAt) {
      skipped.push(`${name}: skipped, out of time`);
      continue;
    }
    let best;
    // Other load on the machine can spoil one try; a real regression shows in all, each with new processes.
    for (let left = tries; left > 0 && !(best?.ratio.median >= LEAST_RATIO); left--) {
      const compared = await withBoth(gauge, context, build, rounds);
      if (best === undefined || compared.ratio?.median > best.ratio.median) best = compared;
      if ('missing' in compared) break;
    }
    if ('missing' in best) {
      skipped.push(`${name}: skipped, ${then} does not have it: ${best.missing}`);
      continue;
    }
    log(`${Math.round(performance.now() / 1_000)} s  ${name}  ${times(best.ratio.median)}`);
    lines.push([
      name,
      gauge.unit,
      short(best.now.median),
      short(best.then.median),
      times(best.ratio.median),
      spreadText(best.ratio),
    ]);
    if (best.ratio.median < LEAST_RATIO) slower.push(name);
  }
  console.log(
    'ratio: how many times better this build is, median and range of the rounds; below 1 is worse\n',
  );
  console.log(table(['', 'unit', 'now', 'then', 'ratio', 'min–max'], lines));
  for (const line of skipped) console.log(line);
  return slower;
}

/**
 * @returns {Promise<Compared | { missing: string }>} `missing`: why the other build can't be measured. It may lack a feature, and
 *   its failure is no failure of this build
 */
async function withBoth(gauge, context, build, rounds) {
  const now = await gauge.open(context);
  let then;
  const ofThen = (work) =>
    work.catch((error) => {
      throw new OtherBuildError(error.message.split('\n')[0], { cause: error });
    });
  try {
    // The first samples warm up.
    await now.sample();
    then = await ofThen(gauge.open(context, build));
    await ofThen(then.sample());
    const samples = { now: [], then: [] };
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? SIDES : [...SIDES].reverse();
      for (const side of order)
        samples[side].push(await (side === 'now' ? now.sample() : ofThen(then.sample())));
    }
    const ratio = ratioOf(samples, gauge.better);
    return { now: spreadOf(samples.now), then: spreadOf(samples.then), ratio };
  } catch (error) {
    if (error instanceof OtherBuildError) return { missing: error.message };
    throw error;
  } finally {
    await then?.close();
    await now.close();
  }
}

class OtherBuildError extends Error {
  name = 'OtherBuildError';
}

/** Compares samples pair by pair: those of a pair were taken in the same round, so that other load affects both. */
function ratioOf({ now, then }, better) {
  return spreadOf(
    now.map((value, round) => {
      const [one, other] = better === 'more' ? [value, then[round]] : [then[round], value];
      // Also for two zeros.
      return one === other ? 1 : one / other;
    }),
  );
}
