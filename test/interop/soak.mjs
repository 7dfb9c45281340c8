import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { startPrivateRedis } from '../../bench/harness/private-redis.mjs';
import { UsageError } from '../soak/options.mjs';
import { contest, findingsOf, wakeUps } from './contest.mjs';
import { LockProcess } from './lock-process.mjs';

/**
 * `npm run soak -- --store redisson`: how fast Java and Node.js wake each other and how they share a lock; then both contend for
 * one lock, for `--minutes` (10), with faults unless `--no-faults` is given.
 *
 * @returns {Promise<number>} the exit code
 */
export async function soakWithJava(args, { classPath, version, program }) {
  const options = {
    store: { type: 'string' },
    minutes: { type: 'string' },
    'no-faults': { type: 'boolean' },
  };
  const { values } = parsed(args, options);
  const minutes = Number(values.minutes ?? 10);
  if (!(minutes > 0)) throw new UsageError(`--minutes must be a number above 0; got "${values.minutes}".`);
  const hasFaults = values['no-faults'] !== true;
  console.log(`soak: redisson, ${minutes} min, 2 Java processes with Redisson ${version} and 2 of Node.js`);
  const { url, stop } = await startPrivateRedis(program);
  // Waits and wake-ups are times of processes that compete for the cores.
  const load = () => loadavg()[0].toFixed(1);
  const loadBefore = load();
  try {
    const findings = await alternation(url, classPath);
    const outcome = await contest({ url, classPath, seconds: minutes * 60, hasFaults });
    findings.push(...findingsOf(outcome));
    const { holds, longestWait, written, refused, value, faults } = outcome;
    const kinds = Object.entries(faults).map(([kind, count]) => `${kind} ${count}`);
    console.log(`holds             Java ${holds.java}, Node.js ${holds.node}`);
    console.log(`longest wait, ms  Java ${longestWait.java}, Node.js ${longestWait.node}`);
    console.log(`faults            ${kinds.join(', ')}`);
    console.log(
      `increments        ${written} reported, ${value} in the store; ${refused} refused by the fence`,
    );
    console.log(
      `load              ${loadBefore} before, ${load()} after, on ${availableParallelism()} cores`,
    );
    console.log(findings.length === 0 ? 'good' : `NOT GOOD: ${findings.join('; ')}`);
    return findings.length === 0 ? 0 : 1;
  } finally {
    stop();
  }
}

const ROUNDS = 500;
const SLOWEST_WAKE_UP_MS = 50;
const CALLERS = 10;
const LEAST_SHARE = 0.25;
const LONGEST_WAIT_MS = 1_000;

/** How long one side takes to wake the other, and how they share a lock with ten callers each, without faults. */
async function alternation(url, classPath) {
  const [java, node] = await Promise.all([LockProcess.java(classPath, [url]), LockProcess.node([url])]);
  const findings = [];
  try {
    const contend = (ms) =>
      Promise.all([java, node].map((side) => side.ask('main', 'contend', 'shared', 'guarded', CALLERS, ms)));
    // Java compiles its code while it runs.
    await contend(5_000);
    await wakeUps({ url, java, node, rounds: 50 });
    const times = await wakeUps({ url, java, node, rounds: ROUNDS });
    for (const [way, all] of Object.entries(times)) {
      const [median, p99] = [0.5, 0.99].map((share) => all[Math.floor(share * all.length)] / 1_000);
      const side = way === 'toNode' ? 'Java wakes Node.js' : 'Node.js wakes Java';
      console.log(`${side}, ms   median ${median.toFixed(1)}, p99 ${p99.toFixed(1)}`);
      if (p99 > SLOWEST_WAKE_UP_MS) findings.push(`${side}: p99 ${p99} ms, at most ${SLOWEST_WAKE_UP_MS}`);
    }
    const counts = (await contend(10_000)).map((reply) => reply.split(' ').map(Number));
    const [[byJava, , , javaWaits], [byNode, , , nodeWaits]] = counts;
    const share = byJava / (byJava + byNode);
    console.log(
      `10 s, ${CALLERS} callers each   Java ${byJava} holds (${Math.round(share * 100)} %), Node.js ${byNode}; ` +
        `longest wait Java ${javaWaits} ms, Node.js ${nodeWaits} ms`,
    );
    if (Math.min(share, 1 - share) < LEAST_SHARE)
      findings.push('one side had less than a quarter of the holds');
    for (const [side, longest] of Object.entries({ Java: javaWaits, 'Node.js': nodeWaits })) {
      if (longest > LONGEST_WAIT_MS)
        findings.push(`a caller of ${side} waited for ${longest} ms, at most ${LONGEST_WAIT_MS}`);
    }
  } finally {
    await Promise.all([java.close(), node.close()]);
  }
  return findings;
}

/** @throws {UsageError} */
function parsed(args, options) {
  try {
    return parseArgs({ args, options });
  } catch (error) {
    throw new UsageError(
      `${error.message.split('. ')[0]}. With --store redisson: --minutes <n>, --no-faults.`,
    );
  }
}
