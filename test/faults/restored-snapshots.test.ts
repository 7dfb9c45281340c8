import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import { methods } from '../../lib/stores/etcd/connection/protocol.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import type { LockStore } from '../../lib/stores/port/index.js';
import { Endings } from '../support/endings.js';
import { EtcdServer } from '../support/etcd-server.js';
import { LockApp } from '../support/lock-app.js';
import { NodesOfLocks } from '../support/nodes-of-locks.js';
import { whereThereIsEtcd, whereThereIsZooKeeper } from '../support/where-there-is.js';
import { ZooKeeperServer } from '../support/zookeeper-server.js';

const page = readFileSync(join(import.meta.dirname, '../../docs/operations/runbook.md'), 'utf8');

interface RestorableServer {
  saveData(): Promise<void>;
  restoreData(): Promise<void>;
  close(): Promise<void>;
}

/** Follows the steps of docs/operations/runbook.md, "etcd and ZooKeeper from a snapshot". */
describe('F53: a snapshot is restored', () => {
  const endings = new Endings();

  /** Starts a process, uses a lock this often, and ends the process. Returns the last token. */
  const tokenAfter = async (uses: number, store: LockStore): Promise<number> => {
    const app = endings.app(await LockApp.start({ store, shutdownTimeout: 100 }));
    let last = NaN;
    for (let use = 0; use < uses; use++) {
      const handle = await app.locks.acquire('order:42', { waitTime: 30_000 });
      last = handle.token;
      await handle.release();
    }
    await app.close();
    return last;
  };

  /** @param raise runs the command of the page */
  const tokensAround = async (
    server: RestorableServer,
    store: () => LockStore,
    raise: () => Promise<void>,
  ): Promise<{ before: number; unraised: number; after: number }> => {
    endings.until(server);
    await tokenAfter(1, store());
    await server.saveData();
    const before = await tokenAfter(50, store());
    await server.restoreData();
    const unraised = await tokenAfter(1, store());
    await raise();
    return { before, unraised, after: await tokenAfter(1, store()) };
  };

  whereThereIsEtcd('the steps for etcd', () => {
    it('F53: in etcd tokens fall back, unless the base is raised as the page says', async () => {
      const server = await (await EtcdServer.start()).ready();
      const store = (): LockStore => etcdStore({ hosts: server.address });
      const { before, unraised, after } = await tokensAround(server, store, async () => {
        const client = server.client();
        await client.open(10_000);
        const [, key = ''] = /^ *etcdctl put (\S+) \$\(date \+%s%6N\)$/m.exec(page) ?? [];
        const put = { do: 'put', key, value: String(Date.now() * 1_000), lease: 0 } as const;
        await client.call(methods.transaction, { do: 'txn', if: [], then: [put], else: [] });
      });
      expect(unraised).toBeLessThan(before);
      expect(after).toBeGreaterThan(before);
    });
  });

  whereThereIsZooKeeper('the steps for ZooKeeper', () => {
    it('F53: in ZooKeeper tokens fall back, unless the base is raised as the page says', async () => {
      const server = await ZooKeeperServer.start();
      const store = (): LockStore => zookeeperStore({ hosts: server.address });
      const { before, unraised, after } = await tokensAround(server, store, async () => {
        const nodes = await NodesOfLocks.open(server.port);
        const [, path = '', base = ''] = /^ *zkCli\.sh set (\S+) (\d+)$/m.exec(page) ?? [];
        await nodes.write(path, base);
        await nodes.close();
      });
      expect(unraised).toBeLessThan(before);
      expect(after).toBeGreaterThan(before);
    });
  });
});
