import { it } from '@jest/globals';
import type { DistributedLockOptions } from '../../lib/index.js';
import { RedisServer } from '../support/redis-server.js';
import { ServerFleet } from '../support/server-fleet.js';
import { elapse } from '../support/until.js';
import type { Hold, WorkerProcess } from '../support/worker-process.js';
import { endClient, machineNow, startClient } from './client.js';
import { startCluster, startSentinel, type ReplicatedServers } from './replicated-servers.js';
import { progress, record } from './report.js';
import { spreadOf, type Spread } from './spread.js';

const PAIRS = 2_000;
const WARM_UP = 300;
/** Long enough for the other process to be queued. */
const SECTION = [2, 2] as const;
/** ms */
const TURNS = { warmUp: 500, counted: 2_000 };

interface Servers {
  readonly name: string;
  readonly options: DistributedLockOptions;
  close(): Promise<void>;
}

const TOPOLOGIES: readonly (() => Promise<Servers>)[] = [
  async () => {
    const server = await RedisServer.start();
    const close = (): Promise<void> => server.close();
    return { name: 'one server', options: { redis: server.url }, close };
  },
  async () => replicated('Sentinel, 1 + 2', await startSentinel()),
  async () => replicated('Sentinel, replicas: { min: 1 }', await startSentinel(), { min: 1 }),
  async () => replicated('Cluster, 3 + 3', await startCluster()),
  async () => replicated('Cluster, replicas: { min: 1 }', await startCluster(), { min: 1 }),
  async () => {
    const fleet = await ServerFleet.start(5);
    const close = (): Promise<void> => fleet.close();
    return { name: 'quorum of 5', options: { quorum: [...fleet.urls] }, close };
  },
];

it('the time of one lock', async () => {
  const figures: object[] = [];
  for (const start of TOPOLOGIES) {
    const { name, options, close } = await start();
    const clients = await Promise.all([startClient(options), startClient(options)]);
    try {
      const free = await freeLocks(clients[0]);
      const turn = await handOvers(clients);
      progress(`${name}: free ${free.median} ms, turn ${turn.median} ms`);
      figures.push({ name, free, turn });
    } finally {
      await Promise.all(clients.map((client) => endClient(client)));
      await close();
    }
  }
  record('redis', 'oneLock', figures);
}, 180_000);

function replicated(
  name: string,
  { redis, close }: ReplicatedServers,
  replicas?: { readonly min: number },
): Servers {
  return { name, options: { redis, replicas }, close };
}

async function freeLocks(client: WorkerProcess): Promise<Spread> {
  await client.do('pairs', { prefix: 'warm-up', count: WARM_UP });
  return spreadOf(await client.do('pairs', { prefix: 'free', count: PAIRS }));
}

/** Two processes with one caller each take turns: the time from the call of release in one to the grant in the other. */
async function handOvers(clients: readonly WorkerProcess[]): Promise<Spread> {
  for (const client of clients) await client.do('startLoad', { keys: ['shared'], section: SECTION });
  await elapse(TURNS.warmUp);
  const from = machineNow();
  await elapse(TURNS.counted);
  const to = machineNow();
  const reports = await Promise.all(clients.map((client) => client.do('endLoad', {})));
  const holds = reports.flatMap((report, client) =>
    report.flatMap((load) => load.holds.map((hold) => ({ ...hold, client }))),
  );
  const counted = holds.filter((hold) => hold.to >= from && hold.to <= to);
  return spreadOf(gapsOf(counted));
}

function gapsOf(holds: readonly (Hold & { readonly client: number })[]): number[] {
  const inTurn = [...holds].sort((one, other) => one.from - other.from);
  return inTurn.flatMap((hold, index) => {
    const before = inTurn[index - 1];
    return before === undefined || before.client === hold.client ? [] : [hold.from - before.to];
  });
}
