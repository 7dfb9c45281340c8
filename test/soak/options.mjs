import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { plantNames } from './plants.mjs';
import { storeNames } from './servers/servers.mjs';

/** Invalid options; the message says what to write instead. */
export class UsageError extends Error {
  name = 'UsageError';
}

export const USAGE = `npm run soak -- [options]

  --store <name>   where the locks are: ${storeNames().join(', ')} (default redis)
  --minutes <n>    how long the load runs (default 10; fractions are allowed)
  --seed <n>       repeats the schedule of an earlier run (default: a new one, printed at the start)
  --processes <n>  processes that use the lock (default 4)
  --keys <n>       locks that they share (default 3)
  --callers <n>    callers in each process (default 24)
  --only <fault>   injects only this fault, and those of further --only; an unknown name prints all names
  --no-faults      load only: nothing is killed, stopped, cut or delayed, and the bounds are strict
  --judge porcupine  has Porcupine decide, too, whether the history is linearizable; needs Go
  --keep           keeps the logs of a good run, too
  --plant <bug>    breaks a copy of the build first; the run succeeds when the checker finds it. All, or one of
${[...storeNames(), 'leader']
  .map((of) => `                   ${`${of}:`.padEnd(12)} ${plantNames(of).join(', ')}`)
  .join('\n')}
  --leader         another test: processes elect a leader; is there never more than one, and soon the next one?
  --steady         another test: load without faults, then two leases of rest; does anything slow down or grow?
  --write          with --steady: records the figures in bench/results
  --cycles [n]     another test: n cycles (default 1000000) and a tenth as many abandoned waits in one process`;

const number = (name, text, { min, max, whole = true }) => {
  const value = Number(text);
  if (text.trim() === '' || !(value >= min && value <= max) || (whole && !Number.isInteger(value))) {
    throw new UsageError(
      `--${name} must be ${whole ? 'a whole number' : 'a number'} from ${min} to ${max}; got "${text}".`,
    );
  }
  return value;
};

function parse(args) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        store: { type: 'string' },
        minutes: { type: 'string' },
        seed: { type: 'string' },
        processes: { type: 'string' },
        keys: { type: 'string' },
        callers: { type: 'string' },
        only: { type: 'string', multiple: true },
        'no-faults': { type: 'boolean' },
        keep: { type: 'boolean' },
        judge: { type: 'string' },
        plant: { type: 'string' },
        cycles: { type: 'boolean' },
        leader: { type: 'boolean' },
        steady: { type: 'boolean' },
        write: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${error.message.split('. ')[0]}.`);
  }
}

/** Options that some others make no sense with. */
const EXCLUSIVE = {
  only: { why: 'says which faults a run has', without: ['no-faults', 'plant', 'cycles'] },
  steady: {
    why: 'has no faults and no seed',
    without: ['only', 'no-faults', 'plant', 'cycles', 'seed', 'judge'],
  },
  leader: {
    why: 'has faults and one lock',
    without: ['steady', 'cycles', 'no-faults', 'keys', 'callers', 'judge'],
  },
};

/**
 * @param {readonly string[]} args
 * @throws {UsageError}
 */
export function readOptions(args) {
  const { values, positionals } = parse([...args]);
  const [count, ...rest] = positionals;
  if (rest.length > 0 || (count !== undefined && !values.cycles)) {
    throw new UsageError(`"${rest[0] ?? count}" is not an option.`);
  }
  const { store = 'redis' } = values;
  if (!storeNames().includes(store)) {
    throw new UsageError(`--store must be one of ${storeNames().join(', ')}; got "${store}".`);
  }
  if (store !== 'redis' && values.cycles) {
    throw new UsageError('--cycles works with Redis only: leave out --store.');
  }
  for (const [name, { why, without }] of Object.entries(EXCLUSIVE)) {
    if (values[name] === undefined || without.every((other) => values[other] === undefined)) continue;
    const others = without.map((other) => `--${other}`);
    const last = others.pop();
    throw new UsageError(`--${name} ${why}: leave out ${others.join(', ')} and ${last}.`);
  }
  if (values.write && !values.steady)
    throw new UsageError('--write records a run with --steady: add --steady.');
  if (values.judge !== undefined && values.judge !== 'porcupine') {
    throw new UsageError(`--judge must be porcupine; got "${values.judge}".`);
  }
  const plants = plantNames(values.leader ? 'leader' : store);
  if (values.plant !== undefined && values.plant !== 'all' && !plants.includes(values.plant)) {
    throw new UsageError(
      `--plant must be one of ${plants.join(', ')} or all with ${values.leader ? '--leader' : store}; got "${values.plant}".`,
    );
  }
  return {
    store,
    help: values.help === true,
    minutes: number('minutes', values.minutes ?? '10', {
      min: values.steady ? 1 : 0.05,
      max: 10_000,
      whole: values.steady === true,
    }),
    minutesGiven: values.minutes !== undefined,
    seed: number('seed', values.seed ?? String(randomInt(1, 1_000_000)), { min: 0, max: 2 ** 32 - 1 }),
    processes: number('processes', values.processes ?? '4', { min: 1, max: 64 }),
    keys: number('keys', values.keys ?? '3', { min: 1, max: 1_000 }),
    callers: number('callers', values.callers ?? '24', { min: 1, max: 1_000 }),
    faults: values['no-faults'] !== true,
    only: values.only,
    keep: values.keep === true,
    judge: values.judge,
    plant: values.plant,
    leader: values.leader === true,
    steady: values.steady === true,
    write: values.write === true,
    cycles: values.cycles === true ? number('cycles', count ?? '1000000', { min: 100, max: 1e9 }) : undefined,
  };
}
