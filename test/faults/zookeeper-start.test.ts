import { afterEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockUnavailableError } from '../../lib/index.js';
import { versionOf } from '../../lib/stores/zookeeper/connection/server-version.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { freePort } from '../support/free-port.js';
import { LockApp } from '../support/lock-app.js';
import { createTlsFiles } from '../support/tls-files.js';
import { rejectionOf, until } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is-zookeeper.js';
import { ZooKeeperServer } from '../support/zookeeper-server.js';

whereThereIsZooKeeper('the start with ZooKeeper', () => {
  describe('the start with ZooKeeper', () => {
    const apps: LockApp[] = [];
    const servers: ZooKeeperServer[] = [];
    const server = async (settings: Readonly<Record<string, string>> = {}): Promise<ZooKeeperServer> => {
      const one = await ZooKeeperServer.start({ settings });
      servers.push(one);
      return one;
    };
    const app = async (
      options: Parameters<typeof zookeeperStore>[0],
      settings: { readonly watchdogTimeout?: number; readonly onUnavailable?: 'local' } = {},
    ): Promise<LockApp> => {
      const one = await LockApp.start({ store: zookeeperStore(options), shutdownTimeout: 50, ...settings });
      apps.push(one);
      return one;
    };
    const use = async (one: LockApp): Promise<void> => {
      const handle = await one.locks.acquire('used', { waitTime: 15_000 });
      expect(await one.locks.isLocked('used')).toBe(true);
      expect(await handle.release()).toBe('released');
    };
    afterEach(async () => {
      await Promise.all(apps.splice(0).map((one) => one.close()));
      await Promise.all(servers.splice(0).map((one) => one.close()));
    });

    it('tells the version, and for how long sessions are kept', async () => {
      const { address } = await server();
      const one = await app({ hosts: address });
      expect(one.log.matching(/ZooKeeper 3\.\d+\.\d+, session timeout 40000 ms/)).toHaveLength(1);
      expect(one.locks.status().store.connections).toEqual([{ name: address, isOpen: true }]);
      expect(one.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
      await use(one);
    });

    it('warns when sessions are too short for watchdogTimeout, and refuses such locks with what to change', async () => {
      const { address } = await server({ maxSessionTimeout: '20000' });
      const one = await app({ hosts: address }, { watchdogTimeout: 30_000 });
      expect(
        one.log.matching(
          /keeps the session for 20000 ms only.*watchdogTimeout: 30000.*Set maxSessionTimeout of the servers to 33301 or more, or watchdogTimeout to 16831 or less/,
        ),
      ).toHaveLength(1);
      const refusal = await rejectionOf(one.locks.acquire('refused', { waitTime: 500 }));
      expect(refusal).toBeInstanceOf(LockUnavailableError);
      expect((refusal as Error).message).toMatch(/a lease may last 16831 ms at most/);
      const short = await one.locks.acquire('short', { leaseTime: 10_000 });
      expect(await short.release()).toBe('released');
    });

    it('locks over TLS, with a certificate that is checked', async () => {
      const directory = await mkdtemp(join(tmpdir(), 'lock-zookeeper-tls-'));
      try {
        const { ca } = await createTlsFiles(directory);
        const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8');
        const identity = join(directory, 'identity.pem');
        await writeFile(identity, `${await read('server.key')}\n${await read('server.crt')}`);
        const port = await freePort();
        await server({
          secureClientPort: String(port),
          secureClientPortAddress: '127.0.0.1',
          serverCnxnFactory: 'org.apache.zookeeper.server.NettyServerCnxnFactory',
          'ssl.keyStore.location': identity,
          'ssl.keyStore.type': 'PEM',
          'ssl.trustStore.location': identity,
          'ssl.trustStore.type': 'PEM',
          'ssl.clientAuth': 'none',
        });
        const hosts = `127.0.0.1:${String(port)}`;
        const one = await app({ hosts, tls: { ca } });
        await use(one);
        const version = await until('it tells its version', () =>
          versionOf({ host: '127.0.0.1', port }, { ca }),
        );
        expect(version).toMatch(/^3\.\d+\.\d+$/);
        const distrustful = await app({ hosts, tls: true });
        const refusal = await rejectionOf(distrustful.locks.acquire(randomUUID(), { waitTime: 500 }));
        expect(refusal).toBeInstanceOf(LockUnavailableError);
        expect((refusal as Error).message).toMatch(/certificate/);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    });

    it("B65: with onUnavailable: 'local' locks are taken in the process until the server is there again", async () => {
      const one = await server();
      const local = await app({ hosts: one.address }, { onUnavailable: 'local' });
      await use(local);
      await one.kill();
      const handle = await local.locks.acquire('alone', { waitTime: 30_000 });
      expect(handle.degraded).toBe(true);
      await handle.release();
      await one.restart();
      await until('it is there again', async () => {
        const next = await local.locks.acquire('together', { waitTime: 30_000 });
        const { degraded } = next;
        await next.release();
        return !degraded;
      });
    });
  });
});
