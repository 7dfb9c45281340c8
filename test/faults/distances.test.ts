import { describe, expect, it } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';

/** Why files of this directory run near their servers only. */
const NEAR_ONLY: Readonly<Record<string, string>> = {
  advice: 'about servers that refuse, and addresses that do not exist',
  'blocked-loop': 'the test blocks the event loop in which the way to the server lies, too',
  'clock-faults': 'about clocks of clients',
  'cluster-faults':
    'about how soon a cluster is found again, whose nodes tell of addresses without a way between',
  commands: 'looks at what the server is sent',
  'deleted-data': 'about what the server has lost',
  'etcd-cluster': 'about members that are gone',
  'etcd-data': 'about what the server has lost',
  'etcd-exit': 'about peers that say nothing',
  'etcd-faults': 'about connections that are cut and servers that are stopped',
  'etcd-space': 'about a server without space',
  'etcd-start': 'about what is said at the start',
  'etcd-turns': 'counts what etcd writes',
  'etcd-users': 'about who may ask',
  'every-store': 'tells that no store is left out',
  health: 'about servers that answer and grant nothing',
  'mixed-processes': 'the contract has callers who disagree far away',
  'out-of-memory': 'about what the server answers',
  outages: 'the server is gone altogether',
  'postgres-cluster': 'about members that are gone',
  'postgres-connections': 'the server ends connections and statements',
  'postgres-deleted': 'about what the server has lost',
  'postgres-exit': 'about peers that say nothing',
  'postgres-faults': 'about connections that are cut and servers that are stopped',
  'postgres-pooler': 'about what a pooler does with connections',
  'postgres-standby': 'about standbys that take over',
  'postgres-start': 'about what is said at the start',
  quorum: 'slow members are under control in the unit tests of the quorum',
  'request-memory': 'about memory',
  resources: 'about memory and connections',
  'restored-snapshots': 'about what the server has lost',
  secrets: 'about what is shown',
  'sentinel-connection': 'about how ioredis finds the server',
  'sentinel-faults': 'as with a cluster',
  'server-clock': 'about the clock of the server',
  'server-faults': 'the server is away altogether, or refuses',
  'start-check': 'about what is said at the start',
  tombstones: 'runs scripts one by one',
  'unheard-waiters': 'runs scripts without a client of the library',
  'zookeeper-board': 'about sizes, and processes that are gone',
  'zookeeper-cluster': 'about members that are gone',
  'zookeeper-crash': 'about processes that are gone',
  'zookeeper-deleted': 'about what the server has lost',
  'zookeeper-exit': 'about peers that say nothing',
  'zookeeper-faults': 'about connections that are cut and servers that are stopped',
  'zookeeper-growth': 'counts what the server keeps',
  'zookeeper-rest': 'counts what the server writes',
  'zookeeper-start': 'about what is said at the start',
};
/** Make their own way to the server longer or shorter as they go. */
const OWN_WAY = ['far-away', 'held-or-away', 'slow-network'];

describe('fault tests', () => {
  it('run with a server that is far away as well, or are listed with the reason', async () => {
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
