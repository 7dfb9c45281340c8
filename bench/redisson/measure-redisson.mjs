import { candidatesOf } from '../candidates/candidates.mjs';
import { Fleet } from '../harness/fleet.mjs';
import { openServer } from '../harness/server.mjs';
import { median, sum } from '../harness/statistics.mjs';
import { describeMachine } from '../machine.mjs';
import { short, times } from '../report/numbers.mjs';
import { table, tableOf } from '../report/table.mjs';
import { headCrash } from '../rows/m11-crash.mjs';
import { interleaved } from '../rows/measure-load.mjs';
import { deathOfFirstFair, JavaFleet } from './java-fleet.mjs';

const java = (label, lock) => [
  { label, lock, settings: 'default' },
  { label: `${label}, tuned`, lock, settings: 'tuned' },
];
const ours = (label, id, sharing) => ({ label, id, sharing });

/** The candidates of the rows. The others are compared with the first one of Java. */
const LOCKS = [
  ours('Redis store', 'ours:withLock'),
  ours('redissonStore', 'redisson-store:withLock'),
  ...java('RLock', 'lock'),
  ...java('RLock, lockAsync', 'lockAsync'),
  { label: 'RFairLock', lock: 'fair', settings: 'default' },
];
const FAIR = [ours('Redis store, fair', 'ours:fair'), ...java('RFairLock', 'fair')];
const READERS = [
  ours("Redis store, mode: 'shared'", 'ours:withLock', { mode: 'shared' }),
  ...java('RReadWriteLock', 'read'),
];
const SEMAPHORES = [
  ours('Redis store, limit: 10', 'ours:withLock', { limit: 10 }),
  ...java('RPermitExpirableSemaphore', 'semaphore'),
];

const FREE = { sectionMs: 0, durationMs: 600 };
const ONE_KEY = { callers: 100, keysPerCaller: null, durationMs: 600 };
const one = { ...ONE_KEY, sectionMs: 0 };
const withWork = { ...ONE_KEY, sectionMs: 2 };
/** The rows of the benchmark with the same names, and how many times the locks of Java `redissonStore` must reach. */
const ROWS = [
  ['M1', 'one caller, free locks', LOCKS, 1, { ...FREE, callers: 1, keysPerCaller: 1_000 }, 1],
  ['M2', '200 callers, free locks', LOCKS, 1, { ...FREE, callers: 200, keysPerCaller: 100 }],
  ['M3', '100 callers in one process, one key', LOCKS, 1, one, 10],
  ['M4', '100 callers in four processes, one key', LOCKS, 4, one, 10],
  ['M4 2 ms', 'the same with 2 ms of work', LOCKS, 4, withWork],
  ['M6', 'one caller in each of four processes, in strict order, 2 ms', FAIR, 4, { ...withWork, callers: 4 }],
  ['M12', '100 readers in one process', READERS, 1, one],
  ['M12 2 ms', 'the same with 2 ms of work', READERS, 1, withWork],
  ['M13', 'a semaphore of 10, 100 callers in one process', SEMAPHORES, 1, one],
  ['M13 2 ms', 'the same with 2 ms of work', SEMAPHORES, 1, withWork],
  ['M13 4 ×', 'a semaphore of 10, 100 callers in four processes', SEMAPHORES, 4, one],
  ['M13 4 × 2 ms', 'the same with 2 ms of work', SEMAPHORES, 4, withWork],
].map(([id, title, candidates, processes, plan, goal]) => ({ id, title, candidates, processes, plan, goal }));
const ROUNDS = 7;
/** Java compiles its code while it runs. */
const WARM_UP_MS = { ours: 1_000, java: 5_000 };

/** Measures M14: this library beside Redisson's locks, interleaved on one server, with the Java side warmed up. */
export async function measureRedisson({ quick }, { program, classPath, version }, log) {
  const { url, stats } = await openServer(program);
  const machine = describeMachine(await stats.version());
  console.log(`Redisson ${version} · ${machine.processor} · ${machine.cores} cores · ${machine.system}`);
  for (const row of ROWS) {
    const rounds = await measureRow(row, { url, stats, classPath, quick, log });
    console.log(
      `\nM14  ${row.id}: ${row.title}\n${tableText(row, rounds)}\n${verdicts(row, rounds).join('\n')}`,
    );
  }
  await measureDeath({ url, stats, classPath, quick, log });
}

async function measureRow({ id, candidates, processes, plan }, { url, stats, classPath, quick, log }) {
  log(`${id}  starting`);
  const fleets = await Promise.all(
    candidates.map(async (candidate) =>
      candidate.lock === undefined
        ? new Fleet(await candidateOf(candidate), processes, url, candidate.sharing)
        : new JavaFleet(candidate, processes, url, classPath),
    ),
  );
  try {
    // One after the other: a machine with few cores starts one quickly, but not dozens.
    for (const fleet of fleets) await fleet.open();
    const durationOf = (fleet) => (fleet instanceof JavaFleet ? WARM_UP_MS.java : WARM_UP_MS.ours);
    const results = await interleaved({
      candidates: fleets,
      rounds: quick ? 1 : ROUNDS,
      warmUp: quick ? undefined : (fleet) => fleet.run({ ...plan, durationMs: durationOf(fleet) }, stats),
      measure: (fleet) => fleet.run(plan, stats),
    });
    return new Map(fleets.map((fleet, index) => [candidates[index].label, results.get(fleet)]));
  } finally {
    await Promise.all(fleets.map((fleet) => fleet.close()));
  }
}

async function candidateOf({ id }) {
  const [file, variant] = id.split(':');
  return (await candidatesOf(file)).find((candidate) => candidate.variant === variant);
}

const referenceOf = ({ candidates }) => candidates.find(({ lock }) => lock !== undefined).label;
const perSecond = (results) => median(results.map((result) => result.perSecond));
const perHold = (results) => median(results.map(({ commands }) => sum(Object.values(commands))));

/** The median of the ratios of rounds that were measured next to each other. */
const ratioOf = (rounds, label, reference) =>
  median(rounds.get(label).map((result, round) => result.perSecond / rounds.get(reference)[round].perSecond));

function tableText(row, rounds) {
  const reference = referenceOf(row);
  return tableOf(
    [
      ['lock', ([label]) => label],
      ['holds/s', ([, results]) => short(perSecond(results))],
      [`÷ ${reference}`, ([label]) => times(ratioOf(rounds, label, reference))],
      ['commands/hold', ([, results]) => short(perHold(results))],
      ['longest wait, ms', ([, results]) => short(Math.max(...results.map(({ maxWait }) => maxWait)))],
    ],
    [...rounds],
  );
}

function verdicts(row, rounds) {
  const rivals = row.candidates.filter(({ lock }) => lock !== undefined);
  const best = Math.max(...rivals.map(({ label }) => perSecond(rounds.get(label))));
  const [{ label }] = row.candidates;
  const checks = [[`${label} ÷ the best of Redisson`, perSecond(rounds.get(label)) / best, 1]];
  if (row.goal !== undefined) {
    const reference = referenceOf(row);
    checks.push([`redissonStore ÷ ${reference}`, ratioOf(rounds, 'redissonStore', reference), row.goal]);
  }
  return checks.map(([name, ratio, goal]) => {
    return `${name}: ${times(ratio)} (at least ${goal}): ${ratio >= goal ? 'reached' : 'NOT REACHED'}`;
  });
}

/** How long the second in line waits for a free lock if the first one was killed while it waited. */
async function measureDeath({ url, stats, classPath, quick, log }) {
  log('death of the first in line; RFairLock takes five minutes');
  const measured = [['Redis store', await headCrash({ url }, 'SIGKILL')]];
  if (!quick) measured.push(['RFairLock', await deathOfFirstFair(url, classPath, stats.client)]);
  const rows = measured.map(([label, ms]) => [label, short(ms)]);
  console.log(`\nM14  death of the first in line\n${table(['lock', 'the next holder, after ms'], rows)}`);
}
