/**
 * `npm run simulate`: whole engines of several processes in virtual time, see docs/internals/proof.md. Each run has a seed; a run
 * with the same seed is the same.
 *
 * `--events 100000` says how many events altogether; `--seed 1` is that of the first run, and each run has the next one;
 * `--kind memory|quorum|fallback` runs one store only; `--build FOLDER` uses another unbundled build.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Simulation, Violation } from '../test/simulate/simulation.mjs';
import { takeOverTime } from '../test/simulate/virtual-world.mjs';
import { ensureBuild, ensureDependencies } from './setup.mjs';

const KINDS = ['memory', 'quorum', 'fallback'];
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    'events-per-run': { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string' },
    history: { type: 'string', default: '20' },
    build: { type: 'string' },
    'no-setup': { type: 'boolean', default: false },
  },
});
if (!values['no-setup']) {
  ensureDependencies();
  ensureBuild();
}
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
};
takeOverTime();

let events = 0;
const outcomes = {};
for (let seed = Number(values.seed); events < Number(values.events); seed += 1) {
  const kind = values.kind ?? KINDS[seed % KINDS.length];
  const simulation = new Simulation(library, { seed, kind });
  try {
    await simulation.run(Number(values['events-per-run']));
  } catch (error) {
    const { now, events: done } = simulation.world;
    console.log(`VIOLATION after ${done} events, at ${now.toFixed(1)} ms of the run with seed ${seed} (${kind}):`);
    console.log(error instanceof Violation ? error.message : error);
    for (const words of simulation.world.history.slice(-Number(values.history))) console.log(' ', ...words);
    console.log(`Repeat it: npm run simulate -- --seed ${seed} --kind ${kind} --events 1`);
    process.exit(1);
  }
  events += simulation.world.events;
  for (const [outcome, count] of Object.entries(simulation.outcomes)) outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
}
const seconds = (realNow() - started) / 1_000;
const list = Object.entries(outcomes).sort().map(([outcome, count]) => `${outcome} ${count}`).join(', ');
console.log(`good: ${events} events in ${seconds.toFixed(0)} s (${Math.round(events / seconds)} a second); ${list}`);
process.exit(0);
