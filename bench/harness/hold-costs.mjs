import { median } from './statistics.mjs';

/**
 * What a hold costs in this process, in several ways. They take turns in short rounds, so that other load affects all of them.
 *
 * @param {Record<string, () => Promise<unknown>>} ways acquires and releases one lock
 * @param {{ rounds: number, roundMs: number, around?: (name: string) => () => void }} how `around`: called before each round;
 *   calls the returned function after it
 * @returns {Promise<Record<string, { took: number, cpu: number }>>} µs per hold: its duration, and processor time of the process;
 *   medians
 */
export async function holdCosts(ways, { rounds, roundMs, around = () => () => undefined }) {
  const samples = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, hold] of Object.entries(ways)) {
      const end = around(name);
      const sample = await measure(hold, roundMs);
      end();
      if (round > 0) samples[name].push(sample);
    }
  }
  const medianOf = (all, figure) => median(all.map((sample) => sample[figure]));
  return Object.fromEntries(
    Object.entries(samples).map(([name, all]) => [
      name,
      { took: medianOf(all, 'took'), cpu: medianOf(all, 'cpu') },
    ]),
  );
}

async function measure(hold, roundMs) {
  const before = process.cpuUsage();
  const startedAt = performance.now();
  let holds = 0;
  for (; performance.now() - startedAt < roundMs; holds++) await hold();
  const took = ((performance.now() - startedAt) / holds) * 1_000;
  const { user, system } = process.cpuUsage(before);
  return { took, cpu: (user + system) / holds };
}
