import { describe, it } from '@jest/globals';
import { elapse } from '../../support/until.js';
import { endClient, machineNow, startClient } from '../client.js';
import { failoverFigures, type Kill } from '../failover-figures.js';
import { failoversWanted, printFailovers, progress, record, today } from '../report.js';
import { startEtcd, startPostgres, startZooKeeper, type ReplicatedStore } from './replicated-stores.js';

const FAILOVERS = failoversWanted(10);
const PROCESSES = 2;
/** Renewed within a lease that is as long as a failover. */
const WATCHDOG_TIMEOUT = 10_000;

/** Keys that are acquired and released as fast as possible: they show when locks are available again. */
const SHORT = { keys: keysOf('short', 6), section: [2, 2] } as const;
/** Keys whose holds outlast a failover: they show what happens to holds. */
const LONG = { keys: keysOf('long', 60), section: [2_000, 4_000] } as const;

/** The load without faults before each kill, ms. */
const PEACE = 2_000;
/** The load after the kill, ms: longer than locks are unavailable. */
const AFTERMATH = 4_000;

describe('failover of stores', () => {
  it.each([
    { id: 'etcd', start: startEtcd },
    { id: 'postgres', start: startPostgres },
    { id: 'zookeeper', start: startZooKeeper },
  ])(
    '$id',
    async ({ id, start }) => {
      const store = await start();
      const options = { ...store.options, watchdogTimeout: WATCHDOG_TIMEOUT };
      const clients = await Promise.all(Array.from({ length: PROCESSES }, () => startClient(options)));
      try {
        for (const client of clients) {
          await client.do('startLoad', SHORT);
          await client.do('startLoad', LONG);
        }
        const kills = await failOver(id, store);
        const reports = await Promise.all(clients.map((client) => client.do('endLoad', {})));
        const figures = failoverFigures(kills, reports.flat(), SHORT.keys);
        printFailovers([{ name: id, ...figures }]);
        record(id, 'failovers', { date: today(), count: FAILOVERS, ...figures });
      } finally {
        await Promise.all(clients.map((client) => endClient(client)));
        await store.close();
      }
    },
    60_000 + FAILOVERS * 40_000,
  );
});

async function failOver(id: string, store: ReplicatedStore): Promise<Kill[]> {
  const kills: Kill[] = [];
  for (let count = 1; count <= FAILOVERS; count++) {
    await elapse(PEACE);
    const killedAt = machineNow();
    await store.failOver();
    kills.push({ killedAt, has: () => true });
    await elapse(AFTERMATH);
    await store.restore();
    progress(`failover, ${id}, ${count} of ${FAILOVERS}`);
  }
  return kills;
}

function keysOf(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${kind}-${index}`);
}
