import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockApp } from '../support/lock-app.js';
import { Endings } from '../support/endings.js';
import { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { keepAliveOfConnectionsTo } from '../support/keep-alive.js';
import { outageRules } from './rules/outage.rules.js';
import { RedisScene } from './redis-scene.js';

describe('idle connections to Redis', () => {
  const scene = new RedisScene();
  const itOnLinux = process.platform === 'linux' ? it : it.skip;
  itOnLinux('F62: are tested by TCP after 30 s', async () => {
    const proxy = await scene.proxy();
    // The default of ioredis 5; that of ioredis 6 is 30 s.
    const app = await scene.app({ redis: { port: proxy.port, keepAlive: 0 } });
    await (await app.locks.acquire(scene.key())).release();
    const times = keepAliveOfConnectionsTo(proxy.port);
    expect(times).not.toEqual([]);
    for (const time of times) expect(time).toBeLessThanOrEqual(30_000);
  });
});

describe('a call that waits through an outage of a quorum', () => {
  const endings = new Endings();
  let servers: readonly RedisServer[] = [];
  beforeAll(async () => {
    servers = await RedisServer.startAll(3);
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()));
  });

  it('F58: the status reports it unreachable while a majority of the servers has no open connection, without a request', async () => {
    const each = await Promise.all(servers.map(({ port }) => TcpProxy.before(port)));
    for (const proxy of each) endings.until(proxy);
    const app = endings.app(await LockApp.start({ quorum: each.map(({ url }) => url) }));
    await (await app.locks.acquire('free')).release();
    const cutOff = async (proxy: TcpProxy | undefined): Promise<void> => {
      await proxy?.refuse();
      proxy?.cut();
    };
    const closed = (): number =>
      app.admin.status().store.connections?.filter(({ isOpen }) => !isOpen).length ?? 0;
    await cutOff(each[0]);
    await until('one is cut off', () => closed() > 0);
    expect(app.admin.status().store.reachable).toBe(true);
    await cutOff(each[1]);
    await until('the status says so', () => app.admin.status().store.reachable === false);
    expect(app.admin.status().store.error).toMatchObject({ message: 'its connections are closed' });
    await each[1]?.accept();
    await until('it is back', () => app.admin.status().store.reachable === true, { deadline: 15_000 });
  });

  /** By the port of the first server. */
  const proxies = new Map<number, readonly TcpProxy[]>();
  outageRules({
    proxy: async () => {
      const each = await Promise.all(servers.map(({ port }) => TcpProxy.before(port)));
      for (const proxy of each) endings.until(proxy);
      const port = each[0]?.port ?? 0;
      proxies.set(port, each);
      return {
        port,
        refuse: async () => {
          await Promise.all(each.map((proxy) => proxy.refuse()));
        },
        accept: async () => {
          await Promise.all(each.map((proxy) => proxy.accept()));
        },
        loseRequest: async (fits) => {
          await Promise.all(each.map((proxy) => proxy.loseRequest(fits)));
        },
        cut: (which) => each.reduce((sum, proxy) => sum + proxy.cut(which), 0),
        swallow: (direction, which) => {
          const ends = each.map((proxy) => proxy.swallow(direction, which));
          return () => {
            for (const end of ends) end();
          };
        },
      };
    },
    app: async ({ port } = {}) => {
      const members = port === undefined ? servers : (proxies.get(port) ?? []);
      return endings.app(await LockApp.start({ quorum: members.map(({ url }) => url) }));
    },
    isDecidedByVotes: true,
    key: () => `key-${randomUUID()}`,
  });
});
