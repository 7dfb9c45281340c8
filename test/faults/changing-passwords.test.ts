import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import type { RedisModuleOptions } from '../../lib/index.js';
import { Endings } from '../support/endings.js';
import { LockApp } from '../support/lock-app.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisServer } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { next } from '../support/until.js';

const USER = 'locks';

describe('F63: a password that changes while the application runs', () => {
  let server: RedisServer;
  let group: SentinelGroup;
  let cluster: RedisCluster;
  let password = 'first';
  const endings = new Endings();

  beforeAll(async () => {
    [server, group, cluster] = await Promise.all([
      RedisServer.start(),
      SentinelGroup.start(),
      RedisCluster.start({ replicasEach: 0 }),
    ]);
  });
  afterAll(() => Promise.all([server.close(), group.close(), cluster.close()]));

  const allServers = (): readonly RedisServer[] => [
    server,
    ...group.servers,
    ...group.sentinelServers,
    ...cluster.servers,
  ];

  /** Gives the user a new password everywhere, and ends all connections of the user. */
  async function changeTo(changed: string): Promise<void> {
    await Promise.all(
      allServers().map(async (each) => {
        const client = each.client();
        await client.call('ACL', 'SETUSER', USER, 'reset', 'on', `>${changed}`, '~*', '&*', '+@all');
        await client.call('CLIENT', 'KILL', 'USER', USER);
        client.disconnect();
      }),
    );
  }

  const current = (): string => password;
  const later = async (): Promise<string> => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return password;
  };
  /** A client of the user, whose password is changed in its options. */
  const own = <C extends { disconnect(): void }>(client: C): C => {
    endings.until({ close: () => client.disconnect() });
    return client;
  };
  const ways: Record<string, () => RedisModuleOptions['redis']> = {
    'a function': () => ({ port: server.port, username: USER, password: current }),
    'an asynchronous function': () => ({ port: server.port, username: () => USER, password: later }),
    'the changed options of a client': () =>
      own(new Redis({ port: server.port, username: USER, password, lazyConnect: true })),
    'functions, by Sentinel with its own password': () => ({
      sentinels: [...group.sentinels],
      name: group.name,
      username: USER,
      password: later,
      sentinelUsername: USER,
      sentinelPassword: current,
    }),
    'functions, in a cluster': () => ({
      nodes: cluster.nodes,
      options: { redisOptions: { username: USER, password: later } },
    }),
    'the changed options of a client of a cluster': () =>
      own(new Cluster([...cluster.nodes], { lazyConnect: true, redisOptions: { username: USER, password } })),
  };

  it.each(Object.keys(ways))('%s: holds survive, and locks can be acquired', async (way) => {
    password = 'first';
    await changeTo(password);
    const redis = ways[way]!();
    const app = endings.app(await LockApp.start({ redis, watchdogTimeout: 6_000 }));
    const keys = ['a', 'b', 'c', 'd'];
    const handles = await Promise.all(keys.map((key) => app.locks.acquire(key)));
    for (const changed of ['second', 'third']) {
      password = changed;
      if (redis instanceof Redis) redis.options.password = changed;
      if (redis instanceof Cluster) redis.options.redisOptions = { ...redis.options.redisOptions, password };
      const renewals = keys.map((key) =>
        next(app.locks.events, (event) => event.type === 'renewed' && event.key === key, 20_000),
      );
      await changeTo(changed);
      await Promise.all(renewals);
      await app.locks.withLock(`e-${changed}`, { waitTime: 10_000 }, () => undefined);
    }
    for (const handle of handles) expect(await handle.release()).toBe('released');
    expect(app.events('lost')).toEqual([]);
  });

  it('is named as the reason if a function fails, and asked for again', async () => {
    password = 'first';
    await changeTo(password);
    let failures = 2;
    const failing = (): string => {
      if (failures-- > 0) throw new Error('no token today');
      return password;
    };
    const redis = { port: server.port, username: USER, password: failing };
    const app = endings.app(await LockApp.start({ redis }));
    expect(app.log.matching('no token today')).toHaveLength(1);
    await app.locks.withLock('key', { waitTime: 10_000 }, () => undefined);
  });
});
