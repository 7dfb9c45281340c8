import { availableParallelism, cpus } from 'node:os';
import { saveResults } from '../../bench/report/results.mjs';
import { plantNames, plantOf, PlantError } from './plants.mjs';
import { runCycles } from './cycles.mjs';
import { endAll } from './lifeline.mjs';
import { readOptions, USAGE } from './options.mjs';
import { reportOf } from './report.mjs';
import { Scene } from './scene.mjs';
import { askPorcupine, isVisible } from './second-judge.mjs';
import { soak } from './soak.mjs';
import { steady } from './steady.mjs';

const print = (line) => console.log(line);

/** On Ctrl-C, ends all started programs, too. */
function endWithTheUser() {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    process.once(signal, () => {
      void endAll().then(() => {
        Scene.removeAll();
        process.exit(code);
      });
    });
  }
}

/** @returns {Promise<boolean>} whether nothing was found */
async function oneRun(options, program, judge) {
  print(
    `soak: ${options.leader ? 'leader election, ' : ''}${options.store}, ${options.minutes} min, seed ${options.seed}, ${options.processes} processes`,
  );
  const outcome = await soak(
    { ...options, shared: true },
    {
      ...{ program, judge, only: options.only, log: print },
      keepLogs: options.keep ? 'always' : 'if bad',
    },
  );
  print(reportOf(outcome));
  const bad = outcome.findings.list.length > 0;
  if (bad || options.keep) print(`The logs are in ${outcome.directory}`);
  print(bad ? `NOT GOOD (seed ${options.seed})` : `good (seed ${options.seed})`);
  return !bad;
}

/** Long enough to find each bug on a slow machine, short enough to try all. */
const PLANT_MINUTES = 1;

/** @returns {Promise<boolean>} whether the checker found it */
async function caught(name, given, program, judge) {
  const { about, finds, run, into } = plantOf(given.leader ? 'leader' : given.store, name);
  const minutes = given.minutesGiven ? given.minutes : PLANT_MINUTES;
  const options = { ...given, minutes, ...run.options };
  print(`planted ${name} (${options.store}): ${about} (${minutes} min, seed ${options.seed})`);
  const { only, rules } = run;
  const { findings, figures } = await soak(options, {
    ...{ program, judge, only, rules, plant: into },
    log: () => undefined,
    keepLogs: 'never',
  });
  const found = findings.list.find(({ kind }) => finds.includes(kind));
  if (found === undefined) print(`  NOT CAUGHT\n${reportOf({ findings, figures })}`);
  else print(`  caught: ${JSON.stringify(findings.counts)}, first: ${found.kind}, ${found.story}`);
  return (judge === undefined || isSeen(figures.second, finds)) && found !== undefined;
}

/** Whether the second judge, by itself, has found the bug, or can't. */
function isSeen({ isLinearizable, stories }, finds) {
  if (!isVisible(finds)) print('  not a matter of linearizability');
  else print(isLinearizable ? '  NOT CAUGHT by Porcupine' : `  caught by Porcupine: ${stories[0]}`);
  return !isLinearizable || !isVisible(finds);
}

/** F50, with enough cycles to detect a growth of a few bytes a cycle. */
async function manyCycles({ cycles }, program) {
  const scene = new Scene('redis', program);
  try {
    await scene.server.start();
    const abandoned = Math.ceil(cycles / 10);
    print(`soak: ${cycles} cycles of acquire and release, ${abandoned} abandoned waits`);
    print('  done   heap, kB   timers   listeners   connections   keys in Redis');
    const plan = { build: scene.build.entry, redis: scene.server.url, cycles, abandoned, samples: 10 };
    const { problems } = await runCycles(plan, ({ done, heap, timers, listeners, connections, keys }) => {
      const columns = [
        `${Math.round(done * 100)} %`,
        Math.round(heap / 1_000),
        timers,
        listeners,
        connections,
        keys,
      ];
      const widths = [6, 11, 9, 12, 14, 16];
      print(columns.map((column, index) => String(column).padStart(widths[index])).join(''));
    });
    for (const problem of problems) print(`FOUND ${problem}`);
    print(problems.length === 0 ? 'good: nothing grows' : 'NOT GOOD');
    return problems.length === 0;
  } finally {
    await scene.close({ keepLogs: false });
  }
}

/** M17: costs that appear only after a lease or more. */
async function steadyRun(options, program) {
  const { store, minutes, processes, write } = options;
  print(`steady: ${store}, ${minutes} min, ${processes} processes`);
  const { samples, rest, problems } = await steady(options, { program, log: print });
  for (const problem of problems) print(`FOUND ${problem}`);
  print(problems.length === 0 ? 'good: nothing slows down, nothing grows' : 'NOT GOOD');
  if (write) {
    const date = new Date().toISOString().slice(0, 10);
    const machine = {
      processor: cpus()[0]?.model.trim(),
      cores: availableParallelism(),
      node: process.versions.node,
    };
    const measured = { date, machine, processes, minutes, samples, rest, problems };
    print(`written to ${saveResults(store, { steady: measured })}`);
  }
  return problems.length === 0;
}

async function plants(options, program, judge) {
  const missed = [];
  const all = plantNames(options.leader ? 'leader' : options.store);
  for (const name of options.plant === 'all' ? all : [options.plant]) {
    if (!(await caught(name, options, program, judge))) missed.push(name);
  }
  print(missed.length === 0 ? 'caught' : `NOT CAUGHT: ${missed.join(', ')}`);
  return missed.length === 0;
}

/** @param {string | undefined} program */
function judgeWith(program) {
  if (program !== undefined) return (history) => askPorcupine(program, history);
  print('Porcupine does not judge this run, since Go is not installed (https://go.dev/dl).');
  return undefined;
}

const runOf = ({ cycles, plant, steady: isSteady }) => {
  if (isSteady) return steadyRun;
  if (cycles !== undefined) return manyCycles;
  return plant === undefined ? oneRun : plants;
};

/**
 * @param {readonly string[]} args the command line
 * @param {(store: string) => unknown} setUp finds or fetches the server's programs
 * @param {() => string | undefined} buildPorcupine builds the judge, if Go is installed
 * @returns {Promise<number>} exit code
 */
export async function main(args, setUp, buildPorcupine) {
  const options = readOptions(args);
  if (options.help) {
    print(USAGE);
    return 0;
  }
  endWithTheUser();
  try {
    const judge = options.judge === undefined ? undefined : judgeWith(buildPorcupine());
    return (await runOf(options)(options, setUp(options.store), judge)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof PlantError)) throw error;
    console.error(error.message);
    return 1;
  }
}
