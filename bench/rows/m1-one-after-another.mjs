import { connectIoredis } from '../candidates/ioredis-client.mjs';
import { Actor } from '../harness/actor.mjs';
import { startDelayProxy } from '../harness/delay-proxy.mjs';
import { median } from '../harness/statistics.mjs';
import { information } from '../report/checks.mjs';
import { short } from '../report/numbers.mjs';
import { table } from '../report/table.mjs';
import { choose } from './choose.mjs';
import { loadGauge } from './gauges.mjs';
import { loadOf } from './measure-load.mjs';
import { measureFreeLocks } from './uncontended.mjs';

export const id = 'M1';
export const title = 'one caller, free locks, one key after another';

const PLAN = { rounds: 7, durationMs: 600, callers: 1, keysPerCaller: 1_000, sectionMs: 0 };
/** At this low rate, the first holds of a client, and those after a pause, cost up to four times as much as later ones. */
const FAR = { ...PLAN, rounds: 5, warmUpMs: 1_500, leadMs: 300 };
const DELAY_MS = 1;
/** A young generation that is larger than what the counted holds allocate. */
const COUNTING = ['--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=128'];

export const gauges = [
  loadGauge({ what: '`withLock`', use: 'ours:withLock', plan: PLAN }),
  loadGauge({
    what: '`withLock`, processor of the client',
    use: 'ours:withLock',
    figure: 'client',
    plan: PLAN,
  }),
  loadGauge({
    what: '`withLock`, processor of Redis',
    use: 'ours:withLock',
    figure: 'server',
    thorough: true,
    plan: PLAN,
  }),
  loadGauge({ what: 'awaited `release()`', use: 'ours:awaited', plan: PLAN }),
  loadGauge({
    what: `${DELAY_MS} ms away, \`withLock\``,
    use: 'ours:withLock',
    plan: PLAN,
    delayMs: DELAY_MS,
  }),
];

/** What a hold costs the process of each candidate, whatever the machine and its load. */
async function holdCosts({ stats, url }, candidates) {
  const costs = [];
  for (const { id: candidate, label } of candidates) {
    await stats.empty();
    const actor = new Actor('hold-costs.mjs', { execArgv: COUNTING });
    try {
      await actor.call('open', candidate, url);
      costs.push({ candidate: label, ...(await actor.call('count')) });
    } finally {
      await actor.kill();
    }
  }
  return costs;
}

export async function run(context) {
  const ours = ['withLock', 'awaited'];
  const near = await measureFreeLocks(context, id, {
    candidates: choose(context.candidates, { floor: true, ours }),
    plan: PLAN,
    goals: { withLock: 1.8, awaited: 0.95, processor: { withLock: 0.85, awaited: 1.2 } },
  });
  const costs = await holdCosts(context, choose(context.candidates, { floor: true, ours }));
  const proxy = await startDelayProxy(context.url);
  try {
    const far = await measureFreeLocks(context, `${id} ${DELAY_MS} ms`, {
      candidates: choose(context.candidates, { floor: true, ours, peers: 'tuned' }),
      url: proxy.url,
      plan: FAR,
      whenWarm: () => proxy.delay(DELAY_MS),
      where: `${DELAY_MS} ms away: `,
      goals: { withLock: 1.9, awaited: 0.95 },
    });
    const ping = await pingTime(proxy.url);
    return {
      text: [
        near.table,
        `what a hold costs the process, whatever the machine and its load:\n${costTable(costs)}`,
        `with a network of ${DELAY_MS} ms each way (a proxy; PING takes ${short(ping)} ms):\n${far.table}`,
      ],
      checks: [
        ...near.checks,
        ...far.checks,
        information(`${DELAY_MS} ms away: PING`, `${short(ping)} ms`, ping),
      ],
      data: {
        costs,
        loads: [loadOf('', PLAN, near.measured), loadOf(`${DELAY_MS} ms each way`, FAR, far.measured)],
      },
    };
  } finally {
    await proxy.close();
  }
}

function costTable(costs) {
  return table(
    ['', 'promises', 'calls of functions', 'bytes allocated'],
    costs.map(({ candidate, promises, calls, bytes }) => [candidate, ...[promises, calls, bytes].map(short)]),
  );
}

/** The duration of a round trip through the proxy, including its own overhead. */
async function pingTime(url) {
  const client = await connectIoredis(url);
  const taken = [];
  for (let i = 0; i < 50; i++) {
    const from = performance.now();
    await client.ping();
    taken.push(performance.now() - from);
  }
  client.disconnect();
  return median(taken);
}
