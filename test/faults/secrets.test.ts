import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import { LockOptionsError, LockUnavailableError, type DistributedLockOptions } from '../../lib/index.js';
import { aclRules } from '../../lib/stores/redis/doctor/acl-rules.js';
import { Endings } from '../support/endings.js';
import { HandshakeProxy } from '../support/handshake-proxy.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { addSlots, RedisCluster } from '../support/redis-cluster.js';
import { RedisServer } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { withUncaughtCollected } from '../support/uncaught.js';
import { rejectionOf, within } from '../support/until.js';

const SECRET = 'hunter2-do-not-tell';
const options = { shutdownTimeout: 50, waitTime: 1_000 };

const endings = new Endings();
const start = async (given: DistributedLockOptions): Promise<LockApp> =>
  endings.app(await LockApp.start({ ...options, ...given }));

async function handOver(one: LockApp, two: LockApp, key: string): Promise<void> {
  const held = await one.locks.acquire(key);
  const waiting = two.locks.acquire(key);
  await queuedIn(two, key);
  await held.release();
  await (await within(500, 'the pushed grant', waiting)).release();
}

describe('TLS and users of Redis', () => {
  let server: RedisServer;
  let inCluster: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start({ tls: true });
    inCluster = await RedisServer.start({
      tls: true,
      settings: { 'cluster-enabled': 'yes', 'tls-cluster': 'yes', 'cluster-announce-ip': '127.0.0.1' },
    });
    await addSlots(inCluster.client());
  });
  afterAll(async () => {
    await Promise.all([server.close(), inCluster.close()]);
  });

  it('locks over TLS, as a user with the recommended ACL rules', async () => {
    const url = await server.addUser(
      'app',
      SECRET,
      aclRules({ prefix: 'lock:' }, { cluster: false, sharded: false, replicas: false, database: false }),
    );
    expect(url).toMatch(/^rediss:/);
    const { host, port, tls } = server;
    const redis = { host, port, tls, username: 'app', password: SECRET } as const;
    const [one, two] = [await start({ redis }), await start({ redis })];
    expect(one.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    await handOver(one, two, 'key');
  });

  it('B1: a malformed URL is rejected without showing its password', async () => {
    const error = await rejectionOf(start({ redis: `redis://:${SECRET}%zz@127.0.0.1:1` }));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(inspect(error, { depth: 12 })).not.toContain(SECRET);
  });

  it('reports why a certificate is not trusted', async () => {
    const app = await start({ redis: server.url });
    const error = await rejectionOf(app.locks.acquire('key', { waitTime: 300 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect((error as Error).message).toMatch(/certificate/);
  });

  const untrusted: Record<string, (port: number) => DistributedLockOptions> = {
    'one server': (port) => ({ redis: { port, tls: {}, connectTimeout: 300 } }),
    Sentinel: (port) => ({
      redis: { sentinels: [{ host: '127.0.0.1', port }], name: 'shop', sentinelTLS: {}, tls: {} },
    }),
    'a cluster': (port) => ({ redis: { nodes: [`rediss://127.0.0.1:${port}`] } }),
    'a quorum': (port) => ({ quorum: [{ port, tls: {}, connectTimeout: 300 }] }),
  };
  it.each(Object.keys(untrusted))(
    'closes cleanly while it connects to %s with an untrusted certificate',
    async (kind) => {
      const proxy = await HandshakeProxy.before(server.port);
      const uncaught = await withUncaughtCollected(async () => {
        const app = await start(untrusted[kind]!(proxy.port));
        const waiting = rejectionOf(app.locks.acquire('key', { waitTime: 30_000 }));
        await proxy.begun();
        await app.close();
        await waiting;
        await proxy.close();
      });
      expect(uncaught).toEqual([]);
    },
  );

  it('guards sockets of ioredis, which would otherwise end the process there', async () => {
    const proxy = await HandshakeProxy.before(server.port);
    const uncaught = await withUncaughtCollected(async () => {
      const client = new Redis({ port: proxy.port, tls: {}, retryStrategy: () => null });
      client.on('error', () => undefined);
      await proxy.begun();
      client.disconnect();
      await proxy.close();
    });
    expect(uncaught).not.toEqual([]);
  });

  it('locks in a Redis Cluster over TLS', async () => {
    const { tls, url } = inCluster;
    const redis = { nodes: [url], options: { redisOptions: { tls } } } as const;
    const [one, two] = [await start({ redis }), await start({ redis })];
    const probe = one.locks.acquire('first', { waitTime: 10_000 });
    await (await probe).release();
    for (const key of ['a', 'b', 'c']) await handOver(one, two, key);
    expect(one.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});

describe('passwords', () => {
  let server: RedisServer;
  let group: SentinelGroup;
  let cluster: RedisCluster;
  beforeAll(async () => {
    server = await RedisServer.start({ settings: { requirepass: 'another one' } });
    group = await SentinelGroup.start({ password: 'another one' });
    cluster = await RedisCluster.start({ replicasEach: 0 });
    for (const primary of await cluster.primaries()) {
      await primary.client().config('SET', 'requirepass', 'another one');
    }
  });
  afterAll(async () => {
    await Promise.all([server.close(), group.close(), cluster.close()]);
  });

  const ways: Record<string, () => DistributedLockOptions> = {
    'a URL': () => ({ redis: server.url.replace('//', `//:${SECRET}@`) }),
    'options of a server': () => ({ redis: { port: server.port, password: SECRET } }),
    'a user': () => ({ redis: { port: server.port, username: 'someone', password: SECRET } }),
    Sentinel: () => ({ redis: { sentinels: [...group.sentinels], name: group.name, password: SECRET } }),
    'the Sentinels themselves': () => ({
      redis: {
        sentinels: [...group.sentinels],
        name: group.name,
        password: SECRET,
        sentinelUsername: 'someone',
        sentinelPassword: SECRET,
      },
    }),
    'a cluster': () => ({ redis: { nodes: cluster.nodes, options: { redisOptions: { password: SECRET } } } }),
    'nodes of a cluster': () => ({
      redis: { nodes: cluster.nodes.map(({ port }) => `redis://:${SECRET}@127.0.0.1:${port}`) },
    }),
    'a quorum': () => ({ quorum: [server.url.replace('//', `//:${SECRET}@`)] }),
    'a fallback': () => ({ redis: { port: server.port, password: SECRET }, onUnavailable: 'local' }),
  };

  it.each(Object.keys(ways))('passed as %s are never disclosed', async (way) => {
    const app = await start(ways[way]!());
    for (const waitTime of [0, 300]) {
      const outcome = await app.locks.acquire('key', { waitTime }).catch((error: unknown) => error);
      expect(outcome).toBeInstanceOf(LockUnavailableError);
      expect(inspect(outcome, { depth: 20, showHidden: true })).not.toContain(SECRET);
      expect(JSON.stringify(outcome)).not.toContain(SECRET);
    }
    expect(inspect(app.seen, { depth: 20, showHidden: true })).not.toContain(SECRET);
    expect(app.log.lines.length).toBeGreaterThan(0);
    expect(inspect(app.log.lines, { depth: 20 })).not.toContain(SECRET);
  });
});
