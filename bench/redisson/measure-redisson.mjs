import { candidatesOf } from '../candidates/candidates.mjs';
import { Fleet } from '../harness/fleet.mjs';
import { openServer } from '../harness/server.mjs';
import { median } from '../harness/statistics.mjs';
import { describeMachine } from '../machine.mjs';
import { short, times } from '../report/numbers.mjs';
import { tableOf } from '../report/table.mjs';
import { JavaFleet } from './java-fleet.mjs';

const JAVA = [
  { label: 'RLock', lock: 'lock', settings: 'default' },
  { label: 'RLock, tuned', lock: 'lock', settings: 'tuned' },
  { label: 'RLock, lockAsync', lock: 'lockAsync', settings: 'default' },
  { label: 'RLock, lockAsync, tuned', lock: 'lockAsync', settings: 'tuned' },
  { label: 'RFairLock', lock: 'fair', settings: 'default' },
];
/** What the others are compared with. */
const REFERENCE = 'RLock';
const OURS = ['this library, Redis store', 'this library, redissonStore'];

const SHARED = { callers: 100, keysPerCaller: null, durationMs: 600 };
/** The rows of the benchmark with the same names, and how many times `RLock` the Redisson store must reach. */
const ROWS = [
  {
    id: 'M1',
    title: 'one caller, free locks',
    processes: 1,
    plan: { callers: 1, keysPerCaller: 1_000, sectionMs: 0, durationMs: 600 },
    goal: 1,
  },
  {
    id: 'M3',
    title: '100 callers in one process, one key',
    processes: 1,
    plan: { ...SHARED, sectionMs: 0 },
    goal: 10,
  },
  {
    id: 'M4',
    title: '100 callers in four processes, one key',
    processes: 4,
    plan: { ...SHARED, sectionMs: 0 },
    goal: 10,
  },
  { id: 'M4 2 ms', title: 'the same with 2 ms of work', processes: 4, plan: { ...SHARED, sectionMs: 2 } },
];
const WARM_UP = 3;
const ROUNDS = 7;

/**
 * Measures M14: this library beside Redisson's locks, interleaved on one server, with the Java side warmed up.
 *
 * @param {{ quick: boolean }} order
 * @param {{ program: string, classPath: string, version: string }} programs
 * @param {(line: string) => void} log
 */
export async function measureRedisson({ quick }, { program, classPath, version }, log) {
  const { url, stats } = await openServer(program);
  const [redis, redisson] = (await Promise.all(['ours', 'redisson-store'].map(candidatesOf))).flatMap(
    (candidates) => candidates.filter(({ variant }) => variant === 'withLock'),
  );
  const machine = describeMachine(await stats.version());
  console.log(`Redisson ${version} · ${machine.processor} · ${machine.cores} cores · ${machine.system}`);
  for (const { id, title, processes, plan, goal } of ROWS) {
    log(`${id}  starting`);
    const fleets = new Map([
      [OURS[0], new Fleet(redis, processes, url)],
      [OURS[1], new Fleet(redisson, processes, url)],
      ...JAVA.map((candidate) => [candidate.label, new JavaFleet(candidate, processes, url, classPath)]),
    ]);
    await Promise.all([...fleets.values()].map((fleet) => fleet.open()));
    const rounds = new Map([...fleets.keys()].map((label) => [label, []]));
    const count = quick ? 1 : ROUNDS;
    for (let round = -WARM_UP; round < count; round++) {
      for (const [label, fleet] of fleets) {
        const result = await fleet.run(plan, stats);
        if (round >= 0) rounds.get(label).push(result);
      }
      log(`${id}  round ${round + WARM_UP + 1} of ${count + WARM_UP}`);
    }
    await Promise.all([...fleets.values()].map((fleet) => fleet.close()));
    console.log(`\nM14  ${id}: ${title}\n${tableText(rounds)}`);
    if (goal !== undefined) console.log(verdict(rounds, goal));
  }
}

const perSecond = (results) => median(results.map((result) => result.perSecond));

/** The median of the ratios of rounds that were measured next to each other. */
const ratioOf = (rounds, label) =>
  median(rounds.get(label).map((result, round) => result.perSecond / rounds.get(REFERENCE)[round].perSecond));

function tableText(rounds) {
  return tableOf(
    [
      ['lock', ([label]) => label],
      ['holds/s', ([, results]) => short(perSecond(results))],
      [`÷ ${REFERENCE}`, ([label]) => times(ratioOf(rounds, label))],
      ['longest wait, ms', ([, results]) => short(Math.max(...results.map(({ maxWait }) => maxWait)))],
    ],
    [...rounds],
  );
}

function verdict(rounds, goal) {
  const ratio = ratioOf(rounds, OURS[1]);
  return `redissonStore ÷ ${REFERENCE}: ${times(ratio)} (at least ${goal}): ${ratio >= goal ? 'reached' : 'NOT REACHED'}`;
}
