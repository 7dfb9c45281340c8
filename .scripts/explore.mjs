/**
 * `npm run explore`: drives the state machines of one key in two or three processes through every order of events up to a
 * depth, against a model of a store. `-- --transitions 1000000` sets the total number of transitions (default), `--deep`
 * explores each scenario to its full depth, `--scenario NAME` runs one scenario, `--plants` checks that planted bugs are found.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { explore, violationOf } from '../test/explore/explore.mjs';
import { PLANTS } from '../test/explore/plants.mjs';
import { SCENARIOS } from '../test/explore/scenarios.mjs';
import { ensureBuild, ensureDependencies } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const { values } = parseArgs({
  options: {
    transitions: { type: 'string', default: '1000000' },
    deep: { type: 'boolean', default: false },
    scenario: { type: 'string' },
    plants: { type: 'boolean', default: false },
    'no-setup': { type: 'boolean', default: false },
  },
});

if (!values['no-setup']) {
  ensureDependencies();
  ensureBuild();
}
process.exitCode = values.plants ? await findPlants() : await exploreAll();

/** Loads a copy of the built state machine. `change` edits the source of the copy. */
async function machineOf(dist, change) {
  const directory = mkdtempSync(join(tmpdir(), 'explore-'));
  try {
    cpSync(join(dist, 'engine'), join(directory, 'engine'), { recursive: true });
    cpSync(join(dist, 'common'), join(directory, 'common'), { recursive: true });
    writeFileSync(join(directory, 'package.json'), '{ "type": "commonjs" }');
    if (change !== undefined) {
      const file = join(directory, 'engine/key-machine', change.file);
      const source = readFileSync(file, 'utf8');
      if (!source.includes(change.from))
        throw new Error(`the bug can't be planted, since ${change.file} does not contain: ${change.from}`);
      writeFileSync(file, source.replace(change.from, change.to));
    }
    const part = (name) => import(pathToFileURL(join(directory, 'engine/key-machine', name)).href);
    const [{ KeyMachine }, { HandOverBudget }] = await Promise.all([
      part('key-machine.js'),
      part('hand-over-budget.js'),
    ]);
    return { KeyMachine, HandOverBudget };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function exploreAll() {
  const modules = await machineOf(join(root, 'dist/cjs'));
  const names = values.scenario === undefined ? Object.keys(SCENARIOS) : [values.scenario];
  const total = { transitions: 0, states: 0 };
  const startedAt = performance.now();
  let left = values.deep ? Infinity : Number(values.transitions);
  for (const [index, name] of names.entries()) {
    const { rules, depth } = SCENARIOS[name];
    const transitions = values.deep ? Infinity : Math.ceil(left / (names.length - index));
    const result = explore(modules, rules, {
      depth: values.deep ? depth : Infinity,
      transitions,
      drainEvery: 8,
    });
    left -= result.transitions;
    total.transitions += result.transitions;
    total.states += result.states;
    console.log(
      `${name}: ${result.transitions} transitions, ${result.states} states, ${result.drained} brought to their end, depth ${result.depth ?? result.run.length}`,
    );
    if (result.violation !== undefined) {
      console.log(`VIOLATION ${result.violation}\n${result.run.map((event) => `  ${event}`).join('\n')}`);
      return 1;
    }
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`good: ${total.transitions} transitions, ${total.states} states, ${seconds.toFixed(0)} s`);
  return 0;
}

async function findPlants() {
  for (const [name, { scenario, depth, about, ...change }] of Object.entries(PLANTS)) {
    const modules = await machineOf(join(root, 'dist/cjs'), change);
    const { rules } = SCENARIOS[scenario];
    const { run, violation, transitions } = explore(modules, rules, { depth, transitions: 400_000 });
    if (violation === undefined) {
      console.log(`NOT FOUND ${name}: ${about}`);
      return 1;
    }
    const replayed = violationOf(modules, rules, run);
    if (replayed === undefined) throw new Error(`the run of "${name}" can't be replayed`);
    console.log(
      `found ${name} after ${transitions} transitions: ${violation.split('\n')[0]}\n  ${run.join('\n  ')}`,
    );
  }
  return 0;
}
