import { Actor } from '../harness/actor.mjs';
import { median } from '../harness/statistics.mjs';
import { atLeast } from '../report/checks.mjs';
import { short } from '../report/numbers.mjs';
import { actorGauge } from './gauges.mjs';

export const id = 'M7';
export const title = 're-entry: withLock inside withLock of the same key';

const GOAL = 200_000;

export const gauges = [
  actorGauge({
    what: 're-entries',
    unit: '/s',
    better: 'more',
    file: 'reentry.mjs',
    start: (actor, url) => actor.call('open', url),
    sample: (actor) => actor.call('run', 300),
  }),
];

export async function run({ url, stats, quick, progress }) {
  const rounds = quick ? 1 : 5;
  const durationMs = quick ? 100 : 600;
  const actor = new Actor('reentry.mjs');
  try {
    await stats.empty();
    await actor.call('open', url);
    await actor.call('run', durationMs);
    const samples = [];
    for (let round = 1; round <= rounds; round++) {
      samples.push(await actor.call('run', durationMs));
      progress(id, `round ${round}/${rounds}  ${short(samples.at(-1))}/s`);
    }
    return { checks: [atLeast('re-entries/s', median(samples), GOAL)] };
  } finally {
    await actor.kill();
  }
}
