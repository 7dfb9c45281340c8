import { it } from '@jest/globals';
import type { DistributedLockOptions } from '../../lib/index.js';
import { RedisServer } from '../support/redis-server.js';
import { ServerFleet } from '../support/server-fleet.js';
import { elapse } from '../support/until.js';
import type { Hold, WorkerProcess } from '../support/worker-process.js';
import { CommandCounter, type Commands } from './command-counter.js';
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
  readonly servers: readonly RedisServer[];
  readonly options: DistributedLockOptions;
  close(): Promise<void>;
}

interface Figures {
  readonly commands: Commands;
  readonly time: Spread;
}

const TOPOLOGIES: readonly (() => Promise<Servers>)[] = [
  async () => {
    const server = await RedisServer.start();
    const close = (): Promise<void> => server.close();
    return { name: 'one server', servers: [server], options: { redis: server.url }, close };
  },
  async () => replicated('Sentinel, 1 + 2', await startSentinel()),
  async () => replicated('Sentinel, replicas: { min: 1 }', await startSentinel(), { min: 1 }),
  async () => replicated('Cluster, 3 + 3', await startCluster()),
  async () => replicated('Cluster, replicas: { min: 1 }', await startCluster(), { min: 1 }),
  async () => {
    const fleet = await ServerFleet.start(5);
    const close = (): Promise<void> => fleet.close();
    return { name: 'quorum of 5', servers: fleet.servers, options: { quorum: [...fleet.urls] }, close };
  },
];

it('commands for each lock', async () => {
  const figures: object[] = [];
  for (const start of TOPOLOGIES) {
    const { name, servers, options, close } = await start();
    const clients = await Promise.all([startClient(options), startClient(options)]);
    try {
      progress(`commands, ${name}`);
      const counter = await CommandCounter.on(servers);
      const free = await freeLocks(counter, clients[0]);
      const handOver = await handOvers(counter, clients);
      figures.push({ name, free, handOver });
    } finally {
      await Promise.all(clients.map((client) => endClient(client)));
      await close();
    }
  }
  await record('commands', figures);
}, 180_000);

function replicated(
  name: string,
  { servers, redis, close }: ReplicatedServers,
  replicas?: { readonly min: number },
): Servers {
  return { name, servers, options: { redis, replicas }, close };
}

async function freeLocks(counter: CommandCounter, client: WorkerProcess): Promise<Figures> {
  await client.do('pairs', { prefix: 'warm-up', count: WARM_UP });
  await counter.begin();
  const times = await client.do('pairs', { prefix: 'free', count: PAIRS });
  return { commands: await counter.end(PAIRS), time: spreadOf(times) };
}

/** Two processes with one caller each take turns: the time from the call of release in one to the grant in the other. */
async function handOvers(counter: CommandCounter, clients: readonly WorkerProcess[]): Promise<Figures> {
  for (const client of clients) await client.do('startLoad', { keys: ['shared'], section: SECTION });
  await elapse(TURNS.warmUp);
  const from = machineNow();
  await counter.begin();
  await elapse(TURNS.counted);
  const commands = await counter.total();
  const to = machineNow();
  const reports = await Promise.all(clients.map((client) => client.do('endLoad', {})));
  const holds = reports.flatMap((report, client) =>
    report.flatMap((load) => load.holds.map((hold) => ({ ...hold, client }))),
  );
  const counted = holds.filter((hold) => hold.to >= from && hold.to <= to);
  return { commands: commands(counted.length), time: spreadOf(gapsOf(counted)) };
}

function gapsOf(holds: readonly (Hold & { readonly client: number })[]): number[] {
  const inTurn = [...holds].sort((one, other) => one.from - other.from);
  return inTurn.flatMap((hold, index) => {
    const before = inTurn[index - 1];
    return before === undefined || before.client === hold.client ? [] : [hold.from - before.to];
  });
}
