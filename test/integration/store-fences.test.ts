import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Leftovers } from '../../.scripts/demo/leftovers.mjs';
import { type Instance, prepareSampleApp, startInstance } from '../../.scripts/demo/sample-app.mjs';
import { EtcdScene } from '../faults/scenes/etcd-scene.js';
import { PostgresScene } from '../faults/scenes/postgres-scene.js';
import type { StoreScene } from '../faults/scenes/store-scene.js';
import { ZooKeeperScene } from '../faults/scenes/zookeeper-scene.js';
import { until } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';
import { whereThereIsPostgres } from '../support/where-there-is-postgres.js';
import { whereThereIsZooKeeper } from '../support/where-there-is-zookeeper.js';

/** How long an order holds its lock, so that a test can interfere. */
const SLOW_ORDER_MS = 2_000;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** @param env environment of the sample app, for a store at a port of this machine */
function rejectsStaleWrites(scene: StoreScene, env: (port: number) => Record<string, string>): void {
  describe(`the sample app with its locks in ${scene.title}`, () => {
    const leftovers = new Leftovers();
    let plain: Instance;
    let slow: Instance;

    beforeAll(async () => {
      await prepareSampleApp({ leftovers, log: () => undefined });
      const DATABASE_FILE = join(leftovers.folder('store-fences-test-'), 'shop.db');
      const start = (name: string, more: Record<string, string> = {}): Promise<Instance> =>
        startInstance({
          name,
          env: { ...env(scene.server.port), LOCK_KEY_PREFIX: '', DATABASE_FILE, ...more },
          leftovers,
        });
      [plain, slow] = await Promise.all([
        start('plain'),
        start('slow', { FRAUD_CHECK_LATENCY: String(SLOW_ORDER_MS) }),
      ]);
    });
    afterAll(() => leftovers.remove());

    const send = async ({ url }: Instance, method: string, path: string, body?: object): Promise<Answer> => {
      const headers = { 'content-type': 'application/json' };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await fetch(new URL(path, url), init);
      return { status: response.status, body: await response.json() };
    };
    const order = (instance: Instance): Promise<Answer> =>
      send(instance, 'POST', '/orders', { sku: 'olive', quantity: 1 });

    it('lets the database reject the write of a holder that has lost the lock', async () => {
      const { locks, admin } = await scene.app();
      const key = 'inventory:olive';
      await send(plain, 'PUT', '/inventory/olive', { stock: 5 });
      // Its release may still be under way.
      await until('it is free', async () => !(await locks.isLocked(key)));
      const stale = order(slow);
      await until('it is locked', () => locks.isLocked(key));
      // The holder is not notified in time to stop.
      expect(await admin.forceRelease(key)).toBe(true);
      expect((await order(plain)).body).toMatchObject({ remaining: 4 });

      const refused = await stale;
      expect(refused.status).toBe(503);
      expect(refused.body).toMatchObject({ message: expect.stringContaining('newer request') });
      const { body } = await send(plain, 'GET', '/inventory/olive');
      expect(body).toEqual({ sku: 'olive', stock: 4, sold: 1, orders: 1 });
    });
  });
}

whereThereIsEtcd('the sample app with etcd', () => {
  rejectsStaleWrites(new EtcdScene(), (port) => ({
    LOCK_STORE: 'etcd',
    ETCD_HOSTS: `127.0.0.1:${String(port)}`,
  }));
});

whereThereIsPostgres('the sample app with PostgreSQL', () => {
  rejectsStaleWrites(new PostgresScene(), (port) => ({
    LOCK_STORE: 'postgres',
    POSTGRES_URL: `postgres://postgres@127.0.0.1:${String(port)}/postgres`,
  }));
});

whereThereIsZooKeeper('the sample app with ZooKeeper', () => {
  rejectsStaleWrites(new ZooKeeperScene(), (port) => ({
    LOCK_STORE: 'zookeeper',
    ZOOKEEPER_HOSTS: `127.0.0.1:${String(port)}`,
  }));
});
