import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockUnsupportedError, LockUnavailableError } from '../../lib/index.js';
import { versionOf } from '../../lib/stores/zookeeper/start-check.js';
import { zookeeperStore, type ZooKeeperStoreOptions } from '../../lib/stores/zookeeper/index.js';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { LockApp } from '../support/lock-app.js';
import { clientCertificate, createTlsFiles } from '../support/tls-files.js';
import { rejectionOf, until } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { ZooKeeperServer } from '../support/zookeeper-server.js';
import { NodesOfLocks } from '../support/nodes-of-locks.js';
import { startRules } from './rules/start.rules.js';

const PASSWORD = 's3cr3t';

whereThereIsZooKeeper('the start with ZooKeeper', () => {
  describe('the start with ZooKeeper', () => {
    const endings = new Endings();
    const server = async (settings: Readonly<Record<string, string>> = {}): Promise<ZooKeeperServer> =>
      endings.until(await ZooKeeperServer.start({ settings }));
    const app = async (options: ZooKeeperStoreOptions, watchdogTimeout = 30_000): Promise<LockApp> =>
      endings.app(
        await LockApp.start({ store: zookeeperStore(options), watchdogTimeout, shutdownTimeout: 50 }),
      );
    /** On a busy machine the first session may come after the start; the store is then introduced by its first reply. */
    const connected = async (options: ZooKeeperStoreOptions, watchdogTimeout: number): Promise<LockApp> => {
      const one = await app(options, watchdogTimeout);
      await one.locks.withLock('connected', { waitTime: 30_000 }, () => undefined);
      return one;
    };
    /** Uses TLS, with a certificate of this authority. */
    const secureServer = async (
      clientAuth = 'none',
    ): Promise<{ port: number; ca: string; directory: string }> => {
      const directory = await mkdtemp(join(tmpdir(), 'lock-zookeeper-tls-'));
      endings.until({ close: () => rm(directory, { recursive: true, force: true }) });
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
        'ssl.trustStore.location': join(directory, 'ca.crt'),
        'ssl.trustStore.type': 'PEM',
        'ssl.clientAuth': clientAuth,
      });
      return { port, ca, directory };
    };

    startRules({
      endings,
      version: /\(ZooKeeper 3\.\d+\.\d+, session timeout 33101 ms\)/,
      plain: async () => zookeeperStore({ hosts: (await server()).address }),
      async secure() {
        const { port, ca } = await secureServer();
        const hosts = `127.0.0.1:${String(port)}`;
        const version = await until('it reports its version', () =>
          versionOf({ host: '127.0.0.1', port }, { ca }),
        );
        expect(version).toMatch(/^3\.\d+\.\d+$/);
        return {
          trusting: [zookeeperStore({ hosts, tls: { ca } })],
          distrustful: [zookeeperStore({ hosts, tls: true })],
        };
      },
      async guarded() {
        const { address: hosts } = await server();
        const path = `/of-${randomUUID()}`;
        return {
          welcome: [zookeeperStore({ hosts, path, auth: { user: 'shop', password: PASSWORD } })],
          refused: [
            [zookeeperStore({ hosts, path }), /no auth.*`auth`/],
            [
              zookeeperStore({ hosts, path, auth: { user: 'shop', password: `${PASSWORD}-but-wrong` } }),
              /no auth.*`auth`/,
            ],
          ],
          secret: PASSWORD,
        };
      },
      async apart() {
        const { address: hosts } = await server();
        return [zookeeperStore({ hosts }), zookeeperStore({ hosts, path: '/other' })];
      },
      nowhere: (port) => zookeeperStore({ hosts: `127.0.0.1:${String(port)}` }),
    });

    it('keeps nodes for the subject of a client certificate', async () => {
      const { port, ca, directory } = await secureServer('need');
      const hosts = `127.0.0.1:${String(port)}`;
      const startAs = async (subject: string): Promise<LockApp> =>
        await app({ hosts, tls: { ca, ...(await clientCertificate(directory, subject)) } });
      const owner = await startAs('shop');
      const held = await owner.locks.acquire('key');
      const friend = await startAs('shop');
      expect(await friend.locks.isLocked('key')).toBe(true);
      const stranger = await startAs('other');
      for (const call of [
        () => stranger.locks.acquire('free', { waitTime: 500 }),
        () => stranger.admin.forceRelease('key'),
      ]) {
        const error = await rejectionOf(call());
        expect(error).toBeInstanceOf(LockUnavailableError);
        expect((error as Error).message).toMatch(/no auth/);
      }
      expect(await held.release()).toBe('released');
    });

    it('warns where servers do not request the client certificate that is to own the nodes', async () => {
      const { port, ca, directory } = await secureServer();
      const tls = { ca, ...(await clientCertificate(directory, 'shop')) };
      const one = await app({ hosts: `127.0.0.1:${String(port)}`, tls });
      const refusal = await rejectionOf(one.locks.acquire('refused', { waitTime: 500 }));
      expect(refusal).toBeInstanceOf(LockUnavailableError);
      expect((refusal as Error).message).toMatch(/invalid ACL.*ssl\.clientAuth=need.*`auth`/);
    });

    it('logs where it is connected, without a warning where none applies', async () => {
      const { address } = await server();
      const one = await app({ hosts: address });
      expect(one.admin.status().store.connections).toEqual([{ name: address, isOpen: true }]);
      expect(one.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    });

    it('warns about a missing right below the node of locks, and reports it to callers', async () => {
      const { address: hosts, port } = await server();
      const nodes = await NodesOfLocks.open(port);
      await nodes.create('/shop');
      await nodes.create('/shop/clients');
      const readOnly = 1;
      await nodes.create('/shop/locks', readOnly);
      await nodes.close();
      const one = await app({ hosts, path: '/shop' });
      expect(one.log.matching(/Locks can't be kept below \/shop\. .*no auth.*`auth`/)).toHaveLength(1);
      const refusal = await rejectionOf(one.locks.acquire('refused', { waitTime: 500 }));
      expect(refusal).toBeInstanceOf(LockUnavailableError);
      expect((refusal as Error).message).toMatch(/no auth.*`auth`/);
    });

    it('warns when sessions are too short for watchdogTimeout, and keeps its locks all the same', async () => {
      const { address } = await server({ maxSessionTimeout: '20000' });
      const one = await app({ hosts: address });
      expect(
        one.log.matching(
          /keeps the session for 20000 ms only: .*after 18090 ms, before its watchdogTimeout of 30000 ms\. Set maxSessionTimeout of the servers to 33101 or more, or watchdogTimeout to 18090 or less/,
        ),
      ).toHaveLength(1);
      for (const leaseTime of [undefined, 60_000]) {
        const handle = await one.locks.acquire(`held-${String(leaseTime)}`, { leaseTime });
        expect(handle.remaining).toBeGreaterThan(15_000);
        expect(handle.remaining).toBeLessThan(18_090);
        await handle.extend(40_000);
        expect(await handle.release()).toBe('released');
      }
    });

    it('rejects a holdAtLeast that outlasts the session, with the remedy', async () => {
      const { address } = await server();
      const one = await app({ hosts: address });
      const hold = await one.locks.acquire('held');
      for (const call of [
        () => one.locks.acquire('refused', { holdAtLeast: 40_000 }),
        () => one.locks.withLock(['refused', 'other'], { holdAtLeast: 40_000 }, () => undefined),
        () => hold.run(() => one.locks.acquire('held', { holdAtLeast: 40_000 })),
      ]) {
        const error = await rejectionOf(call());
        expect(error).toBeInstanceOf(LockUnsupportedError);
        expect((error as Error).message).toMatch(
          /holdAtLeast \(40000 ms\) is too long: ZooKeeper ends the session 33101 ms after .*held for 30000 ms without it, not 40000 ms\. Shorten holdAtLeast, or set sessionTimeout of zookeeperStore, and maxSessionTimeout of the servers, to 44101 or more; locks of a process that died/,
        );
      }
      expect(await hold.release()).toBe('released');
    });

    it('does not warn when tickTime is exactly a fifth of watchdogTimeout', async () => {
      const { address } = await server({ tickTime: '400' });
      const one = await connected({ hosts: address }, 2_000);
      expect(one.log.matching(/session timeout/)).toHaveLength(1);
      expect(one.log.matching(/stays held/)).toEqual([]);
    });

    it.each([
      [
        { tickTime: '1000' },
        {},
        /stays held for up to 4201 ms .*longer than .*\(3000 ms\)\. Set tickTime of the servers, which is 1000 ms, to 400 or less, or watchdogTimeout to 5000 or more/,
      ],
      [
        {},
        { sessionTimeout: 6_000 },
        /stays held for up to 6300 ms .*\. Set sessionTimeout of zookeeperStore to 2301, or leave it out/,
      ],
    ])(
      'warns when locks of a dead process stay held for longer than 1.5 times watchdogTimeout: %j, %j',
      async (settings, options, warning) => {
        const { address: hosts } = await server(settings);
        const one = await connected({ hosts, ...options }, 2_000);
        expect(one.log.matching(warning)).toHaveLength(1);
        const { address } = await server();
        const fitting = await connected({ hosts: address }, 2_000);
        expect(fitting.log.matching(/stays held/)).toEqual([]);
      },
    );

    /** Servers that do not report their `tickTime`; sessions of two to twenty ticks, unless set otherwise. */
    const silentServer = (
      tickTime: number,
      settings: Readonly<Record<string, string>> = {},
    ): Promise<ZooKeeperServer> =>
      server({
        tickTime: String(tickTime),
        maxSessionTimeout: String(20 * tickTime),
        '4lw.commands.whitelist': 'srvr',
        ...settings,
      });
    const timeoutIn = async (one: LockApp): Promise<number> => {
      const [line = ''] = await until('it is connected', () => {
        const lines = one.log.matching(/session timeout/);
        return lines.length > 0 && lines;
      });
      return Number(/session timeout (\d+) ms/.exec(line)?.[1]);
    };

    it('B22: a session outlasts its locks by half a tick, even where minSessionTimeout is below two ticks', async () => {
      const { address: hosts } = await silentServer(2_000, { minSessionTimeout: '2000' });
      const one = await connected({ hosts }, 3_000);
      expect(await timeoutIn(one)).toBe(4_301);
      expect(
        one.log.matching(/stays held for up to 7301 ms .*Set tickTime of zookeeperStore to that/),
      ).toHaveLength(1);
    });

    it('B22: a tickTime that is set makes a session shorter, without a warning', async () => {
      const { address: hosts } = await silentServer(1_000);
      const [assumed, set] = [
        await connected({ hosts }, 5_000),
        await connected({ hosts, tickTime: 1_000 }, 5_000),
      ];
      expect([await timeoutIn(assumed), await timeoutIn(set)]).toEqual([6_501, 6_001]);
      expect(assumed.log.matching(/taken for 2000 ms because/)).toHaveLength(1);
      expect(set.log.matching(/tickTime/)).toEqual([]);
    });

    it.each([
      [500, 5_751, /suggest that it is 1000 on the servers: then two processes may hold a lock at once/],
      [
        2_000,
        6_501,
        /suggest that it is 1000 on the servers: then locks of a dead process stay held for longer/,
      ],
    ])('warns of a tickTime of %d where sessions suggest 1000', async (tickTime, timeout, warning) => {
      const { address: hosts } = await silentServer(1_000);
      const one = await connected({ hosts, tickTime }, 5_000);
      expect(await timeoutIn(one)).toBe(timeout);
      expect(one.log.matching(warning)).toHaveLength(1);
    });

    it.each([100, 400])('B22: uses the tickTime that servers report in place of %d', async (tickTime) => {
      const { address: hosts } = await server();
      const one = await connected({ hosts, tickTime }, 5_000);
      expect(await timeoutIn(one)).toBe(5_601);
      expect(
        one.log.matching(/that of the servers is 200, which is used\. Set it to 200, or leave it out/),
      ).toHaveLength(1);
    });

    it('names maxClientCnxns where the server accepts no more connections, and connects once it does', async () => {
      // At the start, the client needs a second one to find out about sessions.
      const { address: hosts, port } = await server({ maxClientCnxns: '3' });
      const others = [1, 2, 3].map(() => connect(port, '127.0.0.1'));
      await Promise.all(others.map((other) => once(other, 'connect')));
      const store = zookeeperStore({ hosts });
      const full = endings.app(await LockApp.start({ store, shutdownTimeout: 50 }));
      expect(
        full.log.matching(/closed the connection before it opened a session.*maxClientCnxns/),
      ).toHaveLength(1);
      for (const other of others) other.destroy();
      await full.locks.withLock('key', { waitTime: 30_000 }, () => undefined);
    });
  });
});
