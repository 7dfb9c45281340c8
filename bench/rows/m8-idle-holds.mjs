import { Actor } from '../harness/actor.mjs';
import { elapse } from '../harness/clock.mjs';
import { atMost, information } from '../report/checks.mjs';
import { short } from '../report/numbers.mjs';
import { actorGauge } from './gauges.mjs';

export const id = 'M8';
export const title = '10 000 idle holds under the watchdog';

const HOLDS = 10_000;
/** The module's default lease of 30 s, renewed every third. */
const NORMAL = { moduleOptions: {}, roundMs: 10_000 };
const QUICK = { moduleOptions: { watchdogTimeout: 3_000 }, roundMs: 1_000 };
const ROUNDS = 2;

export const gauges = [
  actorGauge({
    what: 'processor time of one renewal of all',
    unit: 'ms',
    better: 'less',
    file: 'idle-holds.mjs',
    async start(actor, url) {
      await actor.call('open', url, QUICK.moduleOptions);
      await actor.call('hold', HOLDS);
    },
    async sample(actor) {
      const before = await actor.call('processorMs');
      await elapse(QUICK.roundMs);
      return (await actor.call('processorMs')) - before;
    },
  }),
];

export async function run({ url, stats, quick, progress }) {
  const { moduleOptions, roundMs } = quick ? QUICK : NORMAL;
  const actor = new Actor('idle-holds.mjs');
  try {
    await stats.empty();
    const timersBefore = await actor.call('open', url, moduleOptions);
    progress(id, `acquiring ${short(HOLDS)} locks`);
    const timersAfter = await actor.call('hold', HOLDS);
    // The first round compiles the code of renewals, and collects the garbage of the acquisitions.
    progress(id, `warm-up round of ${roundMs / 1_000} s`);
    await elapse(roundMs);
    await stats.reset();
    const usedBefore = await actor.call('processorMs');
    const serverBefore = await stats.processorMs();
    progress(id, `${ROUNDS} renewal rounds of ${roundMs / 1_000} s`);
    await elapse(ROUNDS * roundMs);
    const used = (await actor.call('processorMs')) - usedBefore;
    const serverUsed = (await stats.processorMs()) - serverBefore;
    const commands = await stats.counts();
    const held = await actor.call('held');
    if (held !== HOLDS) throw new Error(`${HOLDS - held} of ${HOLDS} idle holds were lost.`);

    const scripts = commands.scripts / ROUNDS;
    // Converts the more frequent renewals of a shorter lease.
    const scale = roundMs / NORMAL.roundMs;
    const share = (used / (roundMs * ROUNDS)) * scale;
    const serverShare = (serverUsed / (roundMs * ROUNDS)) * scale;
    return {
      checks: [
        atMost('scripts per renewal round', scripts, 40),
        atMost('% of one core', share * 100, 2),
        atMost('timers more than before', timersAfter - timersBefore, 1),
        information('% of one core in Redis', short(serverShare * 100)),
      ],
    };
  } finally {
    await actor.kill();
  }
}
