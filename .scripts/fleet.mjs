/**
 * `npm run simulate:fleet`: a fleet of whole engines with one Redis, in virtual time. Each load meets one fault after another; what
 * Redis and the callers notice is printed as a table. Fails if there is a stampede after a restart of Redis.
 *
 * `--processes 1000 --callers 100`: the fleet; `--load 'one key'` and `--fault 'restart with data'`: only these, also several; `--seed 1`: a
 * fleet with the same seed does the same; `--timeline` prints what happened in each 100 ms; `--compare` compares the requests per hold with the
 * fleets of row M16 of the benchmark; `--build FOLDER` uses another unbundled build.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  CLOSED_LOADS,
  FAULTS,
  Fleet,
  LOADS,
  measure,
  measureClosed,
  MOST_AT_ONCE,
} from '../test/simulate/fleet.mjs';
import { scriptRunner } from '../test/simulate/virtual-redis.mjs';
import { takeOverTime } from '../test/simulate/virtual-world.mjs';
import { ensureBuild, ensureDependencies } from './setup.mjs';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '1000' },
    callers: { type: 'string', default: '100' },
    load: { type: 'string', multiple: true },
    fault: { type: 'string', multiple: true },
    seed: { type: 'string', default: '1' },
    build: { type: 'string' },
    compare: { type: 'boolean', default: false },
    timeline: { type: 'boolean', default: false },
    'no-setup': { type: 'boolean', default: false },
  },
});
if (!values['no-setup']) {
  ensureDependencies();
  ensureBuild();
}

/** Both names of a script in a command: its digest, and its text. */
function scriptNames(scripts) {
  return new Map(
    Object.entries(scripts).flatMap(([name, { lua }]) => [
      [createHash('sha1').update(lua.source).digest('hex'), name],
      [lua.source, `${name} (text)`],
    ]),
  );
}

const build = values.build ?? fileURLToPath(new URL('../build/cjs', import.meta.url));
const require = createRequire(import.meta.url);
const load = (file) => require(join(build, file));
const names = scriptNames(load('stores/redis/scripts/scripts.js').scripts);
const library = {
  ...load('index.js'),
  ...load('engine/lock-engine.js'),
  ...load('leader/leader-election.js'),
  ...load('stores/memory/memory-locks.js'),
  ...load('stores/redis/redis-lock-store.js'),
  scriptRunner: await scriptRunner(),
  nameOf: ([command, first]) => names.get(first) ?? command.toUpperCase(),
};
const realNow = performance.now.bind(performance);
const startedAt = realNow();
takeOverTime();

const short = (number) => Number(number.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 3 });
const seconds = (ms) => (ms === Infinity ? 'later' : short(ms / 1_000));
const row = (cells) => console.log(`| ${cells.join(' | ')} |`);

let events = 0;
let digest = 0;
const stampedes = [];
if (values.compare) await compare();
else await measureAll();
console.error(`${events} events in ${seconds(realNow() - startedAt)} s`);
console.log(
  stampedes.length === 0 ? `good: digest ${digest.toString(16)}` : `STAMPEDE: ${stampedes.join('; ')}`,
);
process.exit(stampedes.length === 0 ? 0 : 1);

function fleetOf(load, processes, callers) {
  return new Fleet(library, { seed: Number(values.seed), processes, callers, load });
}

function done({ world }) {
  events += world.events;
  digest = (Math.imul(digest, 31) + world.digest) >>> 0;
}

async function measureAll() {
  row([
    'load',
    'fault',
    'requests/s',
    'holds/s',
    'requests per hold',
    'longest wait, s',
    'most requests in 100 ms ÷ steady',
    'most commands in 100 ms ÷ steady',
    'connections in the worst second',
    'longest queue at the server, ms',
    'calm after, s',
    'failed',
  ]);
  row(['---', '---', ...Array.from({ length: 9 }, () => '--:'), '---']);
  for (const name of values.load ?? Object.keys(LOADS)) {
    const fleet = fleetOf(LOADS[name], Number(values.processes), Number(values.callers));
    await fleet.warmUp();
    for (const fault of values.fault ?? Object.keys(FAULTS)) await measureOne(fleet, name, fault);
    done(fleet);
  }
}

async function measureOne(fleet, name, fault) {
  const result = await measure(fleet, fault);
  const { holdsPerSecond, requestsPerHold, longestWaits, peak, times } = result;
  row([
    name,
    fault,
    short(result.requestsPerSecond),
    holdsPerSecond > 0 ? short(holdsPerSecond) : '–',
    holdsPerSecond > 0 ? short(requestsPerHold) : '–',
    holdsPerSecond > 0 ? longestWaits.map(seconds).join(' → ') : '–',
    short(peak),
    short(result.peakOfCommands),
    result.connections,
    short(result.longestQueue),
    seconds(result.calmAfter),
    result.failed.join(', ') || '–',
  ]);
  if (fault.includes('restart with') && peak > MOST_AT_ONCE)
    stampedes.push(`${name}, ${fault}: ${short(peak)} times the steady rate`);
  if (!values.timeline) return;
  for (let at = times.begin; at < times.end; at += 100)
    console.log(seconds(at - times.over), JSON.stringify(fleet.meter.names(at, at + 100)));
}

/** The largest fleet of row M16, measured and simulated. */
async function compare() {
  const file = new URL('../bench/results/redis.json', import.meta.url);
  const { growth } = JSON.parse(readFileSync(file, 'utf8')).fleets.fleets;
  const { processes, callersEach, loads } = growth.at(-1);
  row(['load', 'requests per hold, measured', 'simulated', 'simulated ÷ measured']);
  row(['---', '--:', '--:', '--:']);
  for (const [name, load] of Object.entries(CLOSED_LOADS)) {
    const fleet = fleetOf(load, processes, callersEach);
    const { requestsPerHold } = await measureClosed(fleet);
    const measured = loads[name].requests;
    row([name, short(measured), short(requestsPerHold), short(requestsPerHold / measured)]);
    done(fleet);
  }
}
