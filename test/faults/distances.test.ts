import { describe, expect, it } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';

/** Test files that run only with a nearby server, with the reason. */
const NEAR_ONLY: Readonly<Record<string, string>> = {
  advice: 'about servers that reject, and unreachable addresses',
  'blocked-loop': 'blocking the event loop also blocks the proxy that adds the delay',
  'changing-passwords': 'about authentication',
  'clock-faults': 'about clocks of clients',
  'cluster-faults': 'cluster nodes announce addresses that bypass a proxy',
  commands: 'checks the commands that the server receives',
  'deleted-data': 'about lost data',
  'etcd-cluster': 'about failed members',
  'etcd-data': 'about lost data',
  'etcd-exit': 'about silent peers',
  'etcd-faults': 'about cut connections and stopped servers',
  'etcd-space': 'about a full disk',
  'etcd-start': 'about messages at the start',
  'etcd-turns': 'counts what etcd writes',
  'etcd-users': 'about authentication',
  'every-store': 'checks that no store is left out',
  health: 'about servers that reply and grant nothing',
  'out-of-memory': 'about replies of the server',
  outages: 'the server is down',
  'postgres-cluster': 'about failed members',
  'postgres-connections': 'the server ends connections and statements',
  'postgres-deleted': 'about lost data',
  'postgres-exit': 'about silent peers',
  'postgres-faults': 'about cut connections and stopped servers',
  'postgres-pooler': 'about connections through a pooler',
  'postgres-standby': 'about failover',
  'postgres-start': 'about messages at the start',
  quorum: 'unit tests of the quorum cover slow members',
  redisson: 'about restarts, failover and rights',
  'request-memory': 'about memory',
  resources: 'about memory and connections',
  'restored-snapshots': 'about lost data',
  secrets: 'about disclosed passwords',
  'sentinel-connection': 'about how ioredis finds the server',
  'sentinel-faults': 'Sentinel announces addresses that bypass a proxy',
  'server-clock': 'about the clock of the server',
  'server-faults': 'the server is down, or rejects commands',
  'silent-servers': 'about servers that do not reply',
  'start-check': 'about messages at the start',
  tombstones: 'runs scripts one by one',
  'unsubscribed-waiters': 'runs scripts without a client of the library',
  'zookeeper-board': 'about sizes, and crashed processes',
  'zookeeper-cluster': 'about failed members',
  'zookeeper-crash': 'about crashed processes',
  'zookeeper-deleted': 'about lost data',
  'zookeeper-exit': 'about silent peers',
  'zookeeper-faults': 'about cut connections and stopped servers',
  'zookeeper-growth': 'counts nodes on the server',
  'zookeeper-rest': 'counts writes on the server',
  'zookeeper-start': 'about messages at the start',
};
/** Vary the distance to the server themselves. */
const OWN_WAY = ['far-away', 'held-or-unreachable', 'slow-network'];

describe('fault tests', () => {
  it('run with a distant server too, or are listed with the reason', async () => {
    const directory = new URL('./', import.meta.url);
    const files = (await readdir(directory)).filter(
      (file) => file.endsWith('.test.ts') && file !== 'distances.test.ts',
    );
    const near: string[] = [];
    for (const file of files) {
      const text = await readFile(new URL(file, directory), 'utf8');
      if (!/new RedisScene\(\{ delay\b/.test(text)) near.push(file.replace('.test.ts', ''));
    }
    expect(near.sort()).toEqual([...Object.keys(NEAR_ONLY), ...OWN_WAY].sort());
  });
});
