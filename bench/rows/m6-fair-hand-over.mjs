import { Actor } from '../harness/actor.mjs';
import { quantile } from '../harness/statistics.mjs';
import { atMost, information } from '../report/checks.mjs';
import { short, times } from '../report/numbers.mjs';

export const id = 'M6';
export const title = 'fair: true, 4 processes: from release in one to the next holder running in another';

const PROCESSES = 4;
const GOAL = 1.5;

export const gauges = [
  {
    what: 'median hand-over',
    unit: 'ms',
    better: 'less',
    async open({ url, short: quick }, build) {
      const { actors, pids, close } = await openActors(url, build);
      let round = 0;
      return {
        async sample() {
          const key = `compared:${pids[0]}:${++round}`;
          const turns = quick ? 20 : 60;
          const records = await Promise.all(actors.map((actor) => actor.call('takeTurns', key, turns)));
          return quantile(handOverTimes(records.flat()), 0.5);
        },
        close,
      };
    },
  },
];

async function openActors(url, build) {
  const actors = Array.from({ length: PROCESSES }, () => new Actor('fair-turns.mjs', { build }));
  const close = () => Promise.all(actors.map((actor) => actor.kill()));
  try {
    const pids = await Promise.all(actors.map((actor) => actor.call('open', url)));
    return { actors, pids, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export async function run({ url, stats, quick, progress }) {
  const rounds = quick ? 1 : 6;
  const turns = quick ? 20 : 60;
  await stats.empty();
  const { actors, pids, close } = await openActors(url);
  try {
    const handOvers = [];
    const messages = [];
    // The first round is the warm-up.
    for (let round = 0; round <= rounds; round++) {
      const key = `fair:${round}`;
      const records = await Promise.all(actors.map((actor) => actor.call('takeTurns', key, turns)));
      const handed = handOverTimes(records.flat());
      const passed = await passMessages(actors, pids, handed.length);
      progress(
        id,
        `round ${round}/${rounds}  hand-over ${short(quantile(handed, 0.5))} ms, message ${short(quantile(passed, 0.5))} ms`,
      );
      if (round > 0 || quick) {
        handOvers.push(handed);
        messages.push(passed);
      }
    }
    return report(handOvers.flat(), messages.flat());
  } finally {
    await close();
  }
}

/** From the call of `release()` to the start of the next hold, for holds that follow in another process. */
function handOverTimes(records) {
  const inOrder = records.sort((a, b) => a.token - b.token);
  return inOrder.flatMap((next, index) => {
    const before = inOrder[index - 1];
    return before === undefined || before.pid === next.pid ? [] : [next.from - before.to];
  });
}

/** Sends as many messages around the same processes, with the same pause before each. */
async function passMessages(actors, pids, turns) {
  await Promise.all(actors.map((actor, index) => actor.call('listen', pids[(index + 1) % PROCESSES], turns)));
  await actors[0].call('sendFirst');
  return (await Promise.all(actors.map((actor) => actor.call('arrivals')))).flat();
}

function report(handed, passed) {
  const ratioAt = (share) => quantile(handed, share) / quantile(passed, share);
  return {
    checks: [
      atMost('median of hand-over ÷ bare message', ratioAt(0.5), GOAL, { measured: times(ratioAt(0.5)) }),
      information('p99 of hand-over ÷ bare message', times(ratioAt(0.99))),
    ],
  };
}
