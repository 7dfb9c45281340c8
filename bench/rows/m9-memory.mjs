import { Actor } from '../harness/actor.mjs';
import { median } from '../harness/statistics.mjs';
import { atMost, information } from '../report/checks.mjs';
import { short } from '../report/numbers.mjs';
import { freshGauge } from './gauges.mjs';

export const id = 'M9';
export const title = 'heap per idle hold, and per waiter';

const COUNT = 20_000;
/** Bytes. */
const KB = 1_000;

const EXEC_ARGV = ['--expose-gc'];

export const gauges = [
  freshGauge({
    what: 'heap per hold',
    unit: 'KB',
    better: 'less',
    async sample({ url, stats }, build) {
      await stats.empty();
      const actor = new Actor('memory.mjs', { execArgv: EXEC_ARGV, build });
      try {
        await actor.call('open', url, 2_000);
        return (await actor.call('holds', 5_000)) / KB;
      } finally {
        await actor.kill();
      }
    },
  }),
];

export async function run({ url, stats, quick, progress }) {
  const count = quick ? 5_000 : COUNT;
  const rounds = quick ? 1 : 3;
  const samples = { hold: [], waiter: [], promise: [] };
  for (let round = 1; round <= rounds; round++) {
    await stats.empty();
    // New processes, since a heap with free space would falsify the result.
    const [holder, one, two] = ['memory.mjs', 'memory.mjs', 'memory.mjs'].map(
      (file) => new Actor(file, { execArgv: EXEC_ARGV }),
    );
    try {
      await Promise.all([
        holder.call('open', url, 1),
        one.call('open', url, 2_000),
        two.call('open', url, 2_000),
      ]);
      samples.hold.push((await one.call('holds', count)) / KB);
      await holder.call('hold', 'contended');
      samples.waiter.push((await two.call('waiters', count, 'contended')) / KB);
      samples.promise.push((await two.call('promises', count)) / KB);
      progress(
        id,
        `round ${round}/${rounds}  hold ${short(samples.hold.at(-1))} KB, waiter ${short(samples.waiter.at(-1))} KB`,
      );
    } finally {
      await Promise.all([holder.kill(), one.kill(), two.kill()]);
    }
  }
  const [hold, waiter, promise] = [samples.hold, samples.waiter, samples.promise].map(median);
  return {
    checks: [
      atMost('KB per idle hold', hold, 1.5),
      atMost('KB per waiter', waiter, 1),
      information('KB per waiter without its pending call', short(waiter - promise)),
    ],
  };
}
