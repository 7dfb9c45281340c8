import { short } from './numbers.mjs';
import { markdownTable, NOTHING_YET } from './page.mjs';

/**
 * @typedef {import('./page.mjs').MeasuredRow & { scale: object }} MeasuredFleets M16 on one store
 */

const NAMES = { redis: 'Redis', postgres: 'PostgreSQL', etcd: 'etcd', zookeeper: 'ZooKeeper' };
const [KB, MB] = [1_000, 1_000_000];

/**
 * The parts of `docs/operations/scaling.md`.
 *
 * @param {Record<string, MeasuredFleets>} fleets by store
 * @returns {Record<'machine' | 'growth' | 'keys' | 'held', string>}
 */
export function scalingParts(fleets) {
  const stores = Object.entries(fleets).map(([store, row]) => ({ ...row, store, name: NAMES[store] }));
  const of = (part) => (stores.length === 0 ? NOTHING_YET : part(stores));
  return {
    machine: of(machineOf),
    growth: of((all) => all.map(growthOf).join('\n\n')),
    keys: of(keysOf),
    held: of(heldOf),
  };
}

function machineOf(stores) {
  const [{ machine }] = stores;
  const versions = stores.map(({ name, store, machine: its }) => `${name} ${its[store]}`).join(', ');
  const days = [...new Set(stores.map(({ measuredAt }) => measuredAt.slice(0, 10)))].sort();
  return `${machine.cores} cores, Node ${machine.node.slice(1)}, ${versions}; ${days.join(', ')}.`;
}

/** A line for each number of processes with ten callers each. */
function growthOf({ name, data: { growth } }) {
  const fleets = [];
  for (const { processes, callersEach } of growth.steps) {
    // bench/RESULTS.md has the others.
    if (callersEach !== 10) continue;
    if (!fleets.some((known) => known.processes === processes)) fleets.push({ processes, callersEach });
  }
  fleets.sort((one, other) => one.processes - other.processes);
  const lines = fleets.map(({ processes, callersEach }) => {
    const step = (load) =>
      growth.steps.find(
        (one) => one.load === load && one.processes === processes && one.callersEach === callersEach,
      );
    const cell = (load) => {
      const found = step(load);
      return found === undefined ? '' : `${short(found.perSecond)}, ${short(found.requests)}`;
    };
    const memory = growth.memory.find((one) => one.processes === processes);
    const last = step('one key, 2 ms')?.turnsTookMs;
    return [
      `${processes} × ${callersEach}`,
      cell('own keys'),
      cell('100 keys'),
      cell('one key'),
      cell('one key, 2 ms'),
      last === undefined ? '' : short(last / 1_000),
      short(memory.rss / MB),
      short(memory.store.connections ?? processes),
    ];
  });
  const head = [
    name,
    'own keys',
    '100 keys',
    'one key',
    'one key, 2 ms of work',
    'all had a turn after, s',
    'MB per process',
    'connections',
  ];
  return markdownTable(head, lines);
}

function keysOf(stores) {
  const lines = stores.map(({ name, data: { keys } }) => {
    const { used, segments, before, after } = keys;
    const third = Math.max(1, Math.floor(segments.length / 3));
    const micros = [segments.slice(0, third), segments.slice(-third)].map(
      (some) => some.reduce((sum, { client, server }) => sum + client + server, 0) / some.length,
    );
    const rates = segments.map(({ perSecond }) => perSecond).sort((one, other) => one - other);
    return [
      name,
      short(used),
      short(rates[Math.floor(rates.length / 2)]),
      micros.map(short).join(' → '),
      [before, after].map(({ heap }) => short(heap / MB)).join(' → '),
      [before, after].map(({ store }) => short(store.entries)).join(' → '),
      [before, after].map(({ store }) => short(store.bytes / KB)).join(' → '),
    ];
  });
  const head = [
    '',
    'keys',
    'holds/s',
    'processor time per hold, first → last third, µs',
    'heap of the process, MB',
    'entries in the store',
    'KB in the store',
  ];
  return markdownTable(head, lines);
}

function heldOf(stores) {
  const lines = stores.map(({ name, data: { held } }) => {
    const { count, bytesEach, renewal, acquireMs, lost } = held;
    return [
      name,
      short(count),
      short(count / (acquireMs / 1_000)),
      short(bytesEach.process / KB),
      short(bytesEach.store / KB),
      short(renewal.requests),
      // Of a renewal round of 10 s.
      `${short(renewal.clientMs / 100)}, ${short(renewal.serverMs / 100)}`,
      short(lost),
    ];
  });
  const head = [
    '',
    'locks held',
    'acquired per second',
    'KB each in the process',
    'KB each in the store',
    'requests per 10 s',
    '% of a core, processes and store',
    'lost',
  ];
  return markdownTable(head, lines);
}
