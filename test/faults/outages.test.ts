import { afterAll, beforeAll, describe } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockApp } from '../support/lock-app.js';
import { Endings } from '../support/endings.js';
import { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { outageRules } from './rules/outage.rules.js';
import { RedisScene } from './redis-scene.js';

describe('a call that waits through an outage of Redis', () => {
  const scene = new RedisScene();
  outageRules({
    proxy: () => scene.proxy(),
    app: ({ port } = {}) =>
      scene.app(port === undefined ? {} : { redis: `redis://127.0.0.1:${String(port)}` }),
    key: () => scene.key(),
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
    key: () => `key-${randomUUID()}`,
  });
});
