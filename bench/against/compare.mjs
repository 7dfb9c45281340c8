import { spreadOf } from '../harness/statistics.mjs';
import { ratioOf } from './ratios.mjs';

const SIDES = ['now', 'then'];

/**
 * @typedef {Pick<import('../rows/gauges.mjs').Gauge, 'better' | 'open'>} Gauge
 *
 * @typedef {{ now: import('../harness/statistics.mjs').Spread, then: import('../harness/statistics.mjs').Spread,
 *   ratio: import('./ratios.mjs').Ratio }} Compared
 */

/**
 * Opens a gauge for both builds. `use` may then measure it repeatedly, in interleaved rounds.
 *
 * @template T
 * @param {Gauge} gauge
 * @param {object} context of the gauge
 * @param {string} build URL of the other build
 * @param {(measure: (rounds: number) => Promise<Compared>) => Promise<T>} use
 * @returns {Promise<T | { missing: string }>} `missing`: why the other build can't be measured
 */
export async function withBoth(gauge, context, build, use) {
  const now = await gauge.open(context);
  try {
    await now.sample();
    const then = await openOther(gauge, context, build);
    if ('missing' in then) return then;
    try {
      return await use((rounds) => interleave(gauge, { now, then: then.opened }, rounds));
    } catch (error) {
      if (error instanceof OtherBuildError) return { missing: error.message };
      throw error;
    } finally {
      await then.opened.close();
    }
  } finally {
    await now.close();
  }
}

/** The other build failed during its measurement. This is no failure of this build. */
class OtherBuildError extends Error {
  name = 'OtherBuildError';
}

const firstLineOf = (error) => error.message.split('\n')[0];

/** An older build may lack the feature, and then fails here. The first sample warms up. */
async function openOther(gauge, context, build) {
  let opened;
  try {
    opened = await gauge.open(context, build);
    await opened.sample();
    const { sample, close } = opened;
    return { opened: { sample: () => sample().catch(rethrowAsOther), close } };
  } catch (error) {
    await opened?.close();
    return { missing: firstLineOf(error) };
  }
}

function rethrowAsOther(error) {
  throw new OtherBuildError(firstLineOf(error), { cause: error });
}

async function interleave({ better }, sides, rounds) {
  const samples = { now: [], then: [] };
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? SIDES : [...SIDES].reverse();
    for (const side of order) samples[side].push(await sides[side].sample());
  }
  return {
    now: spreadOf(samples.now),
    then: spreadOf(samples.then),
    ratio: ratioOf(samples.now, samples.then, better),
  };
}
