/**
 * `npm run simulate`: whole engines of several processes in virtual time, see docs/internals/proof.md. Each run has a seed; a run
 * with the same seed is the same.
 *
 * `--events 100000` says how many events altogether; `--seed 1` is that of the first run, and each run has the next one;
 * `--kind memory|quorum|fallback|'fallback quorum'|redis|redisson|'redis cluster'|'redisson cluster'` runs one store only; `--build FOLDER` uses another unbundled build;
 * `--plants` shows that each planted bug is found, with `--kind` those of one store, with `--plant NAME` one.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PLANTS } from '../test/simulate/plants.mjs';
import { Simulation, Violation } from '../test/simulate/simulation.mjs';
import { scriptRunner } from '../test/simulate/virtual-redis.mjs';
import { takeOverTime } from '../test/simulate/virtual-world.mjs';
import { copyBuild } from '../test/soak/build-copy.mjs';
import { ensureBuild, ensureDependencies } from './setup.mjs';

/** The most events until a planted bug has to be found. */
const MOST_EVENTS = 8_000_000;

const KINDS = [
  'memory',
  'quorum',
  'fallback',
  'fallback quorum',
  'redis',
  'redisson',
  'redis cluster',
  'redisson cluster',
];
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    'events-per-run': { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string' },
    history: { type: 'string', default: '20' },
    build: { type: 'string' },
    plants: { type: 'boolean', default: false },
    plant: { type: 'string' },
    'no-setup': { type: 'boolean', default: false },
  },
});
if (!values['no-setup']) {
  ensureDependencies();
  ensureBuild();
}
if (values.plants) process.exit(findPlants() ? 0 : 1);

const build = values.build ?? fileURLToPath(new URL('../build/cjs', import.meta.url));
const require = createRequire(import.meta.url);
const load = (file) => require(join(build, file));
const started = performance.now();
const realNow = performance.now.bind(performance);
const library = {
  ...load('index.js'),
  ...load('stores/port/lock-store.js'),
  ...load('engine/lock-engine.js'),
  ...load('leader/leader-election.js'),
  ...load('stores/quorum/quorum-lock-store.js'),
  ...load('stores/fallback/fallback-lock-store.js'),
  ...load('stores/memory/memory-locks.js'),
  ...load('stores/redis/redis-lock-store.js'),
  ...load('stores/redis/scripts/key-names.js'),
  ...load('stores/redisson/redisson-names.js'),
  ...load('stores/redisson/index.js'),
  scriptRunner: await scriptRunner(),
};
takeOverTime();

let events = 0;
let digest = 0;
const outcomes = {};
for (let seed = Number(values.seed); events < Number(values.events); seed += 1) {
  const kind = values.kind ?? KINDS[seed % KINDS.length];
  const simulation = new Simulation(library, { seed, kind });
  try {
    await simulation.run(Number(values['events-per-run']));
  } catch (error) {
    const { now, events: done } = simulation.world;
    console.log(
      `VIOLATION after ${done} events, at ${now.toFixed(1)} ms of the run with seed ${seed} (${kind}):`,
    );
    console.log(error instanceof Violation ? error.message : error);
    const kept = simulation.world.history.slice(simulation.world.history.length - Number(values.history));
    for (const words of kept) console.log(' ', ...words);
    console.log(`Repeat it: npm run simulate -- --seed ${seed} --kind ${kind} --events 1`);
    process.exit(1);
  }
  events += simulation.world.events;
  digest = (Math.imul(digest, 31) + simulation.world.digest) >>> 0;
  for (const [outcome, count] of Object.entries(simulation.outcomes))
    outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
}
const seconds = (realNow() - started) / 1_000;
const list = Object.entries(outcomes)
  .sort()
  .map(([outcome, count]) => `${outcome} ${count}`)
  .join(', ');
console.log(
  `good: ${events} events in ${seconds.toFixed(0)} s (${Math.round(events / seconds)} a second), digest ${digest.toString(16)}; ${list}`,
);
process.exit(0);

/** Runs the simulation on a copy with each of the bugs. Returns whether all were found. */
function findPlants() {
  const missed = [];
  for (const [name, { about, kind, file, from, to, everywhere = false }] of Object.entries(PLANTS)) {
    if (values.kind !== undefined && values.kind !== kind) continue;
    if (values.plant !== undefined && values.plant !== name) continue;
    const folder = mkdtempSync(join(tmpdir(), 'lock-simulation-'));
    try {
      const copy = copyBuild(folder);
      const text = copy.read(file);
      const isFit = everywhere ? text.includes(from) : text.split(from).length === 2;
      if (!isFit) {
        console.log(`${name}: DOES NOT FIT ${file} any more`);
        missed.push(name);
        continue;
      }
      const planted = text.replaceAll(from, () => to);
      copy.write(file, planted);
      const build = join(folder, 'build');
      const args = [
        '--no-setup',
        '--history=0',
        `--kind=${kind}`,
        `--events=${MOST_EVENTS}`,
        `--build=${build}`,
      ];
      const { stdout, status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...args], {
        encoding: 'utf8',
      });
      const [, events = '', seed = '', what = ''] =
        /VIOLATION after (\d+) events.* seed (\d+) .*\n(.*)/.exec(stdout) ?? [];
      if (status === 0 || what === '') missed.push(name);
      const found =
        what === ''
          ? 'NOT FOUND'
          : `found in the run with seed ${seed}, after ${events} events of it: ${what.slice(0, 120)}`;
      console.log(`${name} (${about}): ${found}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  console.log(missed.length === 0 ? 'good: all planted bugs found' : `NOT FOUND: ${missed.join(', ')}`);
  return missed.length === 0;
}
