import { Actor } from '../harness/actor.mjs';
import { median } from '../harness/statistics.mjs';
import { atMost, information } from '../report/checks.mjs';
import { short } from '../report/numbers.mjs';
import { actorGauge } from './gauges.mjs';

export const id = 'M10';
export const title = '@Locked against withLock';

const GOAL_MICROSECONDS = 5;

export const gauges = [
  actorGauge({
    what: '`@Locked` call, memory store',
    unit: 'µs',
    better: 'less',
    file: 'decorated.mjs',
    start: (actor) => actor.call('open', { store: 'memory' }),
    sample: async (actor) => median((await actor.call('run', 8, 1_000)).decorated),
  }),
];

export async function run({ url, stats, quick, progress }) {
  const blocks = quick ? 4 : 40;
  const stores = [
    ['memory', { store: 'memory' }, 2_000],
    ['Redis', { redis: url }, 300],
  ];
  const measured = [];
  for (const [name, moduleOptions, calls] of stores) {
    progress(id, `${name}: ${blocks} blocks of ${calls} calls`);
    await stats.empty();
    const actor = new Actor('decorated.mjs');
    try {
      await actor.call('open', moduleOptions);
      await actor.call('run', Math.ceil(blocks / 10), calls);
      const { decorated, direct } = await actor.call('run', blocks, calls);
      // Compares adjacent blocks, so that other load on the machine affects both.
      measured.push(median(decorated.map((value, index) => value - direct[index])));
    } finally {
      await actor.kill();
    }
  }
  const [memory, redis] = measured;
  return {
    checks: [
      atMost('µs more per call, memory store', memory, GOAL_MICROSECONDS),
      information('µs more per call, Redis', short(redis)),
    ],
  };
}
