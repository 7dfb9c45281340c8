/**
 * `npm run explore`: every order of events, see docs/internals/proof.md. Five parts, all of them if none is named:
 *
 * - `--machine`: the line of one key, as two or three processes have it, against a model of a store;
 * - `--scripts`: that model beside the real scripts in a real Redis whose clock is moved;
 * - `--redis`: the lines on that Redis;
 * - `--quorum`: two or three processes on three members;
 * - `--ordered`: two or three processes on a model of a store with an ordered queue, such as etcd.
 *
 * `--transitions 1000000` says how many for the first part, and so for the others, which have fewer; `--deep` tries ten times
 * as many; `--scenario NAME` runs one; `--plants` shows that planted bugs are found; `--replay 'EVENT; EVENT'` repeats a run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ClockedRedis, EPOCH } from '../test/explore/clocked-redis.mjs';
import { ComparedRedisson, ComparedStores, SCRIPT_SCENARIOS } from '../test/explore/compared-stores.mjs';
import { explore, violationOf } from '../test/explore/explore.mjs';
import { OrderedWorld } from '../test/explore/ordered-world.mjs';
import {
  ORDERED_PLANTS,
  PLANTS,
  QUORUM_PLANTS,
  REDIS_PLANTS,
  SCRIPT_PLANTS,
} from '../test/explore/plants.mjs';
import { QuorumWorld } from '../test/explore/quorum-world.mjs';
import { ORDERED_SCENARIOS, QUORUM_SCENARIOS, SCENARIOS } from '../test/explore/scenarios.mjs';
import { takeOverTimers } from '../test/explore/world-time.mjs';
import { World } from '../test/explore/world.mjs';
import { copyBuild } from '../test/soak/build-copy.mjs';
import { ensureBuild, ensureDependencies, ensureRedisServer, ensureTestTools } from './setup.mjs';

/** The modules unbundled. */
const build = fileURLToPath(new URL('../build/cjs', import.meta.url));
const require = createRequire(import.meta.url);

const { values } = parseArgs({
  options: {
    machine: { type: 'boolean', default: false },
    scripts: { type: 'boolean', default: false },
    redis: { type: 'boolean', default: false },
    quorum: { type: 'boolean', default: false },
    ordered: { type: 'boolean', default: false },
    transitions: { type: 'string', default: '1000000' },
    deep: { type: 'boolean', default: false },
    scenario: { type: 'string' },
    replay: { type: 'string' },
    plants: { type: 'boolean', default: false },
    'no-setup': { type: 'boolean', default: false },
  },
});

class Failure extends Error {}

const PARTS = ['machine', 'scripts', 'redis', 'quorum', 'ordered'];
const isEach = !PARTS.some((part) => values[part]);
if (!values['no-setup']) {
  ensureDependencies();
  ensureBuild();
  if (isEach || values.scripts || values.redis) {
    ensureTestTools();
    process.env['REDIS_SERVER'] = ensureRedisServer().path;
  }
}
/** How many transitions a part may have of those that were asked for. */
const shareOf = (part) => Math.ceil(Number(values.transitions) * (values.deep ? 10 * part : part));

/** The parts that need no server: their world, scenarios and bugs, and limits. */
const WORLDS = {
  machine: [World, SCENARIOS, PLANTS, { most: 1, drainEvery: 8 }],
  quorum: [QuorumWorld, QUORUM_SCENARIOS, QUORUM_PLANTS, { most: 0.06, drainEvery: 4 }],
  ordered: [OrderedWorld, ORDERED_SCENARIOS, ORDERED_PLANTS, { most: 0.1, drainEvery: 4 }],
};

try {
  if (values.machine || isEach) await worldPart('machine');
  if (values.scripts || isEach) await withRedis(scriptsPart);
  if (values.redis || isEach) await withRedis(redisPart);
  if (values.quorum || isEach) await worldPart('quorum');
  if (values.ordered || isEach) await worldPart('ordered');
} catch (error) {
  console.log(error instanceof Failure ? error.message : error);
  process.exitCode = 1;
}

/** The built classes that are explored. */
function modulesOf(directory = build) {
  const part = (name) => require(join(directory, name));
  return {
    ...part('engine/line.js'),
    ...part('engine/turn.js'),
    ...part('common/deferred.js'),
    ...part('stores/redis/connection/server-connection.js'),
    ...part('stores/quorum/quorum-lock-store.js'),
    ...part('stores/ordered/ordered-session.js'),
    ...part('stores/ordered/lock-queue.js'),
    ...part('stores/port/lock-store.js'),
    ...part('common/clock.js'),
  };
}

/** The same from a copy with a bug. */
function plantedModules({ file, from, to }) {
  const directory = mkdtempSync(join(tmpdir(), 'explore-'));
  try {
    const copy = copyBuild(directory);
    const source = copy.read(file);
    if (!source?.includes(from)) throw new Failure(`the bug has no place in ${file}: ${from}`);
    copy.write(file, source.replace(from, to));
    return modulesOf(join(directory, 'build'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The whole of a part, its planted bugs, or the repetition of one run. */
async function part(name, { scenarios, plants, open, openPlanted, most, drainEvery }) {
  if (values.plants) {
    for (const [bug, { scenario, about, drainEvery, ...change }] of Object.entries(plants)) {
      const { start } = scenarios[scenario];
      const planted = openPlanted(change, scenarios[scenario]);
      const { run, violation, transitions } = await explore(planted, {
        transitions: 400_000,
        start,
        drainEvery,
      });
      if (violation === undefined) throw new Failure(`NOT FOUND ${bug}: ${about}`);
      if ((await violationOf(planted, run)) === undefined)
        throw new Failure(`the run of "${bug}" can't be replayed`);
      printFound(bug, transitions, violation, run);
    }
    return;
  }
  const chosen = Object.entries(scenarios).filter(([each]) => [each, undefined].includes(values.scenario));
  if (chosen.length === 0) throw new Failure(`there is no scenario "${values.scenario}"`);
  if (values.replay !== undefined) {
    for (const [, rules] of chosen) {
      const violation = await violationOf(open(rules), values.replay.split('; '));
      if (violation !== undefined) throw new Failure(`VIOLATION ${violation}`);
      console.log('good: the run breaks nothing');
    }
    return;
  }
  const total = totals(name);
  let left = shareOf(most);
  for (const [index, [scenario, rules]] of chosen.entries()) {
    const transitions = Math.ceil(left / (chosen.length - index));
    const result = await explore(open(rules), { transitions, drainEvery, start: rules.start });
    left -= result.transitions;
    total.add(scenario, result);
    if (result.violation !== undefined) {
      throw new Failure(`VIOLATION ${result.violation}\n${testOf(name, scenario, result.run)}`);
    }
  }
  total.print();
}

async function worldPart(name) {
  const [PartWorld, scenarios, plants, limits] = WORLDS[name];
  // The code of the others waits for promises.
  if (name !== 'machine') takeOverTimers();
  const modules = modulesOf();
  await part(name, {
    scenarios,
    plants,
    open: (rules) => () => new PartWorld(modules, rules),
    openPlanted: (change, rules) => {
      const planted = plantedModules(change);
      return () => new PartWorld(planted, rules);
    },
    ...limits,
  });
}

/** @param run gets a function that opens a store of a kind, whose scripts may have a bug */
async function withRedis(run) {
  const { RedisStore } = await import('../test/explore/redis-store.mjs');
  const { RedissonStore } = await import('../test/explore/redisson-store.mjs');
  const stores = { redis: RedisStore, redisson: RedissonStore };
  const redis = new ClockedRedis();
  try {
    await run((kind, plant) => new stores[kind](redis, plant));
  } finally {
    await redis.close();
  }
}

async function scriptsPart(openStore) {
  const stores = { redis: openStore('redis'), redisson: openStore('redisson') };
  const compared = { redis: ComparedStores, redisson: ComparedRedisson };
  const opener = (store, scenario) => (state) => new compared[scenario.of](store, scenario, state);
  await part('scripts', {
    scenarios: SCRIPT_SCENARIOS,
    plants: SCRIPT_PLANTS,
    open: (scenario) => opener(stores[scenario.of], scenario),
    openPlanted: (change, scenario) => opener(openStore(scenario.of, change), scenario),
    most: 0.12,
    drainEvery: Infinity,
  });
}

async function redisPart(openStore) {
  const store = openStore('redis');
  const modules = modulesOf();
  const opener = (on) => (rules) => () => {
    on.now = EPOCH;
    on.load();
    return new World(modules, rules, on);
  };
  await part('redis', {
    scenarios: SCENARIOS,
    plants: REDIS_PLANTS,
    open: opener(store),
    openPlanted: (change, rules) => opener(openStore('redis', change))(rules),
    most: 0.015,
    drainEvery: 8,
  });
}

function totals(name) {
  const sum = { transitions: 0, states: 0 };
  const startedAt = performance.now();
  return {
    add(scenario, { transitions, states, drained, depth, run }) {
      sum.transitions += transitions;
      sum.states += states;
      const ends = drained === 0 ? '' : `, ${drained} brought to their end`;
      console.log(
        `${name}, ${scenario}: ${transitions} transitions, ${states} states${ends}, depth ${depth ?? run.length}`,
      );
    },
    print() {
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
      console.log(`good: ${name}, ${sum.transitions} transitions, ${sum.states} states, ${seconds} s`);
    },
  };
}

function printFound(bug, transitions, violation, run) {
  const [what] = violation.split('\n');
  console.log(`found ${bug} after ${transitions} transitions: ${what}\n  ${run.join('\n  ')}`);
}

/** The run as a test for test/integration/explore.test.ts. */
function testOf(name, scenario, run) {
  const events = run.map((event) => `      '${event}',`).join('\n');
  return `
  it('…', async () => {
    const run = [
${events}
    ];
    expect(await replay('${name}', '${scenario}', run)).toMatch(/^good/m);
  });`;
}
