import { describe, it } from '@jest/globals';
import type { RedisServer } from '../support/redis-server.js';
import { elapse, until } from '../support/until.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { failoverFigures } from './failover-figures.js';
import { endClient, machineNow, startClient } from './client.js';
import { startCluster, startSentinel, type ReplicatedServers } from './replicated-servers.js';
import { failoversWanted, printFailovers, progress, record, today } from './report.js';
import { spreadOf } from './spread.js';

const FAILOVERS = failoversWanted(20);

/** Both run on the same servers, so that they meet the same failovers. */
const SETTINGS = [{ replicas: undefined }, { replicas: { min: 1 } }] as const;
const PROCESSES = 2;
/** Renewed within a lease that is as long as a failover. */
const WATCHDOG_TIMEOUT = 10_000;

/** Keys that are acquired and released as fast as possible: they show when locks are available again. */
const SHORT = { keys: 6, section: [2, 2] } as const;
/** Keys whose holds outlast a failover: they show what happens to holds. */
const LONG = { keys: 150, section: [2_000, 4_000] } as const;

/**
 * The time between two kills, ms: sentinels start no failover within two `failover-timeout` (4 s) of the last one, which
 * would be measured as a wait.
 */
const PERIOD = { least: 5_500, jitter: 1_000 };

interface Failover {
  readonly part: number;
  /** By the machine's monotonic clock. */
  readonly killedAt: number;
  readonly promotedAfter: number;
  readonly restoredAfter: number;
}

describe('failover', () => {
  it.each([
    { id: 'sentinel', start: startSentinel },
    { id: 'cluster', start: startCluster },
  ])(
    '$id',
    async ({ id, start }) => {
      const servers = await start();
      const clients = await Promise.all(SETTINGS.map((setting) => startClients(servers, setting)));
      try {
        const keys = SETTINGS.map((_, index) => keysOf(servers, `s${index}`));
        for (const [index, processes] of clients.entries()) {
          for (const client of processes) {
            await client.do('startLoad', { keys: keys[index]!.short, section: SHORT.section });
            await client.do('startLoad', { keys: keys[index]!.long, section: LONG.section });
          }
        }
        const failovers = await failOver(id, servers);
        const reports = await Promise.all(
          clients.map((processes) => Promise.all(processes.map((client) => client.do('endLoad', {})))),
        );
        const kills = failovers.map(({ part, killedAt }) => ({
          killedAt,
          has: (key: string) => servers.partOf(key) === part,
        }));
        const settings = SETTINGS.map(({ replicas }, index) => ({
          replicasMin: replicas?.min ?? 0,
          ...failoverFigures(kills, reports[index]!.flat(), keys[index]!.short),
        }));
        printFailovers(
          settings.map((figures) => ({ name: `${id}, replicas.min ${figures.replicasMin}`, ...figures })),
        );
        const promoted = spreadOf(failovers.map(({ promotedAfter }) => promotedAfter));
        record('redis', 'failovers', { date: today(), count: FAILOVERS, [id]: { promoted, settings } });
      } finally {
        await Promise.all(clients.flat().map((client) => endClient(client)));
        await servers.close();
      }
    },
    60_000 + FAILOVERS * 40_000,
  );
});

function startClients(
  { redis }: ReplicatedServers,
  { replicas }: (typeof SETTINGS)[number],
): Promise<WorkerProcess[]> {
  const options = { redis, replicas, watchdogTimeout: WATCHDOG_TIMEOUT };
  return Promise.all(Array.from({ length: PROCESSES }, () => startClient(options)));
}

/** The same number of keys for each primary. */
function keysOf(servers: ReplicatedServers, name: string): { short: string[]; long: string[] } {
  const spread = (kind: string, count: number): string[] => {
    const byPart = Array.from({ length: servers.parts }, (): string[] => []);
    for (let i = 0; byPart.some(({ length }) => length < count / servers.parts); i++) {
      const key = `${name}-${kind}-${i}`;
      const part = byPart[servers.partOf(key)]!;
      if (part.length < count / servers.parts) part.push(key);
    }
    return byPart.flat();
  };
  return { short: spread('short', SHORT.keys), long: spread('long', LONG.keys) };
}

async function failOver(id: string, servers: ReplicatedServers): Promise<Failover[]> {
  const clients = new Map(servers.servers.map((server) => [server, server.client()]));
  const isPrimary = async (server: RedisServer): Promise<boolean> =>
    server.isAnswering && (await clients.get(server)!.info('replication')).includes('role:master');
  await elapse(PERIOD.least);
  const failovers: Failover[] = [];
  for (let count = 0; count < FAILOVERS; count++) {
    const part = count % servers.parts;
    const primary = await servers.primaryOf(part);
    const others = await Promise.all(
      servers.servers.map(async (server) => ((await isPrimary(server)) ? undefined : server)),
    );
    const candidates = others.filter((server) => server !== undefined);
    const killedAt = machineNow();
    await primary.kill();
    await until(
      'a replica takes over',
      async () => (await Promise.all(candidates.map(isPrimary))).includes(true),
      { deadline: 30_000, every: 10 },
    );
    const promotedAfter = machineNow() - killedAt;
    // Not earlier: it comes back empty, and would be considered the primary that it was.
    await servers.promotedAfter(primary);
    await servers.restart(primary);
    const restoredAfter = machineNow() - killedAt;
    failovers.push({ part, killedAt, promotedAfter, restoredAfter });
    progress(
      `failover, ${id}, ${count + 1} of ${FAILOVERS}: another primary after ${promotedAfter.toFixed(0)} ms`,
    );
    const rest = killedAt + PERIOD.least + Math.random() * PERIOD.jitter - machineNow();
    await elapse(Math.max(rest, PERIOD.least - restoredAfter, 1_000));
  }
  return failovers;
}
