/**
 * `npm run simulate:fleet`: a fleet of whole engines with one virtual Redis, see docs/operations/scaling.md.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createHash } from 'node:crypto';
import { FAULTS, Fleet, LOADS, measure } from '../test/simulate/fleet.mjs';
import { scriptRunner } from '../test/simulate/virtual-redis.mjs';
import { takeOverTime } from '../test/simulate/virtual-world.mjs';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '1000' },
    callers: { type: 'string', default: '100' },
    load: { type: 'string' },
    fault: { type: 'string' },
    seed: { type: 'string', default: '1' },
    build: { type: 'string' },
    timeline: { type: 'boolean', default: false },
  },
});
const build = values.build ?? fileURLToPath(new URL('../build/cjs', import.meta.url));
const require = createRequire(import.meta.url);
const load = (file) => require(join(build, file));
const realNow = performance.now.bind(performance);
const { scripts } = load('stores/redis/scripts/scripts.js');
const names = new Map();
for (const [name, { lua }] of Object.entries(scripts)) {
  names.set(lua.source, name);
  names.set(createHash('sha1').update(lua.source).digest('hex'), name);
}
const library = {
  ...load('index.js'),
  ...load('engine/lock-engine.js'),
  ...load('leader/leader-election.js'),
  ...load('stores/memory/memory-locks.js'),
  ...load('stores/redis/redis-lock-store.js'),
  scriptRunner: await scriptRunner(),
  nameOf: ([name, first]) => {
    const script = names.get(first);
    if (script === undefined) return name.toUpperCase();
    return name.toUpperCase() === 'EVAL' ? `${script} (text)` : script;
  },
};
takeOverTime();

const short = (number) => (number === undefined || Number.isNaN(number) ? '–' : Number(number.toPrecision(3)).toLocaleString('en'));
const seconds = (ms) => (ms === Infinity ? 'longer' : short(ms / 1_000));
const chosen = (all, name) => Object.keys(all).filter((each) => name === undefined || each === name);
console.log('| load | fault | requests/s | commands/s | holds/s | requests per hold | peak requests | peak commands | longest wait, s | connections/s | queue, ms | calm after, s | failed |');
console.log('| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |');
for (const name of chosen(LOADS, values.load)) {
  const startedAt = realNow();
  const fleet = new Fleet(library, {
    seed: Number(values.seed),
    processes: Number(values.processes),
    callers: Number(values.callers),
    load: name,
  });
  const { world, meter } = fleet;
  await fleet.warmUp();
  for (const fault of chosen(FAULTS, values.fault)) {
    const result = await measure(fleet, fault);
    console.log(`| ${[name, fault, short(result.requestsPerSecond), short(result.commandsPerSecond), short(result.holdsPerSecond), short(result.requestsPerHold), short(result.peak), short(result.peakOfCommands), `${seconds(result.steadyWait)} → ${seconds(result.longestWait)}`, result.connections, short(result.longestQueue), seconds(result.calmAfter), result.failed.join(', ')].join(' | ')} |`);
    const { begin, over, end } = result.times;
    if (!values.timeline) continue;
    for (let at = begin; at < end; at += 100)
      console.log(((at - over) / 1000).toFixed(1), JSON.stringify(meter.names(at, at + 100)));
  }
  console.error(`${name}: ${world.events} events, ${seconds(realNow() - startedAt)} s`);
}
process.exit(0);
