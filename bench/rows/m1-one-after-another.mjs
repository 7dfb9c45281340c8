import { connectIoredis } from '../candidates/ioredis-client.mjs';
import { startDelayProxy } from '../harness/delay-proxy.mjs';
import { median } from '../harness/statistics.mjs';
import { information } from '../report/checks.mjs';
import { short } from '../report/numbers.mjs';
import { choose } from './choose.mjs';
import { loadGauge } from './gauges.mjs';
import { measureFreeLocks } from './uncontended.mjs';

export const id = 'M1';
export const title = 'one caller, free locks, one key after another';

const PLAN = { rounds: 7, durationMs: 600, callers: 1, keysPerCaller: 1_000, sectionMs: 0 };
/** At this low rate, the first holds of a client, and those after a pause, cost up to four times as much as later ones. */
const FAR = { ...PLAN, rounds: 5, warmUpMs: 1_500, leadMs: 300 };
const DELAY_MS = 1;

export const gauges = [
  { what: '`withLock`' },
  { what: '`withLock`, processor of the client', figure: 'client' },
  { what: '`withLock`, processor of Redis', figure: 'server', thorough: true },
  { what: 'awaited `release()`', use: 'ours:awaited' },
  { what: `${DELAY_MS} ms away, \`withLock\``, delayMs: DELAY_MS },
].map((gauge) => loadGauge({ use: 'ours:withLock', plan: PLAN, ...gauge }));

export async function run(context) {
  const ours = ['withLock', 'awaited'];
  const near = await measureFreeLocks(context, id, {
    candidates: choose(context.candidates, { floor: true, ours }),
    name: '',
    plan: PLAN,
    goals: { withLock: 1.8, awaited: 0.95, processor: { withLock: 0.85, awaited: 1.2 } },
  });
  const proxy = await startDelayProxy(context.url);
  try {
    const far = await measureFreeLocks(context, id, {
      candidates: choose(context.candidates, { floor: true, ours, peers: 'tuned' }),
      url: proxy.url,
      name: `${DELAY_MS} ms each way`,
      plan: { ...FAR, whenWarm: () => proxy.delay(DELAY_MS) },
      where: `${DELAY_MS} ms away: `,
      goals: { withLock: 1.9, awaited: 0.95 },
    });
    const ping = await pingTime(proxy.url);
    return {
      text: [...near.text, ...far.text],
      checks: [...near.checks, ...far.checks, information(`${DELAY_MS} ms away: PING`, `${short(ping)} ms`)],
      loads: [...near.loads, ...far.loads],
    };
  } finally {
    await proxy.close();
  }
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
