import { short } from './numbers.mjs';
import { markdownTable } from './page.mjs';

/**
 * @typedef {import('./page.mjs').MeasuredRow & { fleets: object }} MeasuredFleets M16 on one store
 */

const NAMES = { redis: 'Redis', postgres: 'PostgreSQL', etcd: 'etcd', zookeeper: 'ZooKeeper' };
const [KB, MB] = [1_000, 1_000_000];

/**
 * The parts of `docs/operations/scaling.md`.
 *
 * @param {Record<string, MeasuredFleets>} fleets by store
 * @returns {Record<'machine' | 'held', string>}
 */
export function scalingParts(fleets) {
  const stores = Object.entries(fleets).map(([store, row]) => ({ ...row, store, name: NAMES[store] }));
  return {
    machine: machineOf(stores),
    held: columnsOf(heldOf(stores), [
      '',
      'locks held',
      'KB each in the process',
      'KB each in the store',
      'requests per 10 s',
      '% of a core, processes and store',
    ]),
  };
}

function columnsOf({ head, lines }, names) {
  const picked = names.map((name) => head.indexOf(name));
  return markdownTable(
    names,
    lines.map((line) => picked.map((index) => line[index])),
  );
}

/**
 * The growth of the fleets on each store, then the keys used once and the held locks of all stores.
 *
 * @param {readonly { name: string, fleets: object }[]} stores
 * @returns {{ head: string[], lines: string[][] }[]}
 */
export const fleetTables = (stores) => [...stores.map(growthOf), keysOf(stores), heldOf(stores)];

function machineOf(stores) {
  const [{ machine }] = stores;
  const versions = stores.map(({ name, store, machine: its }) => `${name} ${its[store]}`).join(', ');
  const days = [...new Set(stores.map(({ measuredAt }) => measuredAt.slice(0, 10)))].sort();
  return `${machine.cores} cores, Node ${machine.node.slice(1)}, ${versions}; ${days.join(', ')}.`;
}

const LOADS = ['own keys', '100 keys', 'one key', 'one key, 2 ms'];

/** A line for each number of processes. */
function growthOf({ name, fleets: { growth } }) {
  const lines = growth.map(({ processes, callersEach, loads, turnsTookMs, rss, connections }) => [
    `${processes} × ${callersEach}`,
    ...LOADS.map((load) => `${short(loads[load].perSecond)}, ${short(loads[load].requests)}`),
    short(turnsTookMs / 1_000),
    short(rss / MB),
    short(connections ?? processes),
  ]);
  const loads = LOADS.map((load) => load.replace('2 ms', '2 ms of work'));
  const head = [name, ...loads, 'all had a turn after, s', 'MB per process', 'connections'];
  return { head, lines };
}

function keysOf(stores) {
  const lines = stores.map(({ name, fleets: { keys } }) => {
    const { used, perSecond, micros, before, after } = keys;
    return [
      name,
      short(used),
      short(perSecond),
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
  return { head, lines };
}

function heldOf(stores) {
  const lines = stores.map(({ name, fleets: { held } }) => {
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
  return { head, lines };
}
