import { EtcdCluster } from '../../support/etcd-cluster.js';
import { freePort } from '../../support/free-port.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { RedisServer } from '../../support/redis-server.js';
import { SentinelGroup } from '../../support/sentinel-group.js';
import { ServerFleet } from '../../support/server-fleet.js';
import { ZooKeeperCluster } from '../../support/zookeeper-cluster.js';
import type { OperatedStore } from './operated-store.js';

/** Every store with servers, and every topology of Redis. */
export const operatedStores = {
  redis,
  sentinel,
  cluster,
  quorum,
  postgres,
  etcd,
  redisson,
  zookeeper,
} satisfies Record<string, () => Promise<OperatedStore>>;

/** Must not appear in any output. */
const password = 'geheim';

const each = <T>(servers: readonly T[], act: (server: T) => unknown): Promise<unknown> =>
  Promise.all(servers.map(act));

/** The part of a single server. */
const single = (server: RedisServer | PostgresServer) => ({
  stop: async () => server.stop(),
  resume: async () => server.resume(),
  kill: () => (server instanceof PostgresServer ? server.destroy() : server.kill()),
  restart: () => server.restart(),
  close: () => server.close(),
});

async function redis(): Promise<OperatedStore> {
  const server = await RedisServer.start();
  return {
    reach: { module: { redis: server.url } },
    nowhere: { module: { redis: `redis://me:${password}@127.0.0.1:${await freePort()}` } },
    isExamined: true,
    ...single(server),
  };
}

async function sentinel(): Promise<OperatedStore> {
  const group = await SentinelGroup.start();
  const { name } = group;
  let former: RedisServer | undefined;
  return {
    reach: { module: { redis: { sentinels: [...group.sentinels], name } } },
    nowhere: {
      module: {
        redis: { sentinels: [{ host: '127.0.0.1', port: await freePort() }], name, username: 'me', password },
      },
    },
    isExamined: true,
    stop: () => each(group.servers, (server) => server.stop()),
    resume: async () => {
      await each(group.servers, (server) => server.resume());
      await group.settled();
    },
    kill: () => each(group.servers, (server) => server.kill()),
    restart: async () => {
      const primary = await group.primary();
      await primary.restart();
      for (const server of group.servers) if (server !== primary) await group.restart(server);
      await group.settled();
    },
    members: {
      loseSome: async () => (former = await group.killPrimary()),
      regain: async () => {
        if (former === undefined) return;
        await group.promotedAfter(former);
        await group.restart(former);
        await group.settled();
      },
    },
    close: () => group.close(),
  };
}

async function cluster(): Promise<OperatedStore> {
  const servers = await RedisCluster.start({ replicasEach: 0 });
  return {
    reach: { module: { redis: { nodes: [...servers.nodes] } } },
    nowhere: { module: { redis: { nodes: [`redis://me:${password}@127.0.0.1:${await freePort()}`] } } },
    isExamined: true,
    stop: () => each(servers.servers, (server) => server.stop()),
    resume: async () => {
      await each(servers.servers, (server) => server.resume());
      await servers.settled();
    },
    kill: () => each(servers.servers, (server) => server.kill()),
    restart: async () => {
      await each(servers.servers, (server) => server.restart());
      await servers.settled();
    },
    close: () => servers.close(),
  };
}

async function quorum(): Promise<OperatedStore> {
  const fleet = await ServerFleet.start(3);
  const { servers } = fleet;
  const ports = await Promise.all(servers.map(() => freePort()));
  return {
    reach: { module: { quorum: fleet.urls } },
    nowhere: { module: { quorum: ports.map((port) => `redis://me:${password}@127.0.0.1:${port}`) } },
    isExamined: true,
    stop: () => each(servers, (server) => server.stop()),
    resume: () => each(servers, (server) => server.resume()),
    kill: () => each(servers, (server) => server.kill()),
    restart: () => each(servers, (server) => server.restart()),
    members: {
      loseSome: () => each(servers.slice(0, 1), (server) => server.kill()),
      loseMost: () => each(servers.slice(0, 2), (server) => server.kill()),
      withoutMost: /no majority of the 3 servers/,
      regain: () => each(servers.slice(0, 2), (server) => server.restart()),
    },
    close: () => fleet.close(),
  };
}

async function postgres(): Promise<OperatedStore> {
  const server = await PostgresServer.startWithSchema();
  const nowhere = `postgres://me:${password}@127.0.0.1:${await freePort()}/shop`;
  return {
    reach: { factory: 'postgresStore', given: { connection: server.url } },
    nowhere: { factory: 'postgresStore', given: { connection: nowhere } },
    isExamined: false,
    ...single(server),
  };
}

/** The part of three servers that need a majority. */
const replicated = (servers: EtcdCluster | ZooKeeperCluster) => {
  const members: readonly (EtcdCluster | ZooKeeperCluster)['members'][number][] = servers.members;
  return {
    stop: () => each(members, (member) => member.stop()),
    resume: async () => {
      await each(members, (member) => member.resume());
      await servers.ready();
    },
    kill: () => each(members, (member) => member.kill()),
    restart: async () => {
      await each(members, (member) => member.restart());
      await servers.ready();
    },
    members: {
      loseSome: () => each(members.slice(0, 1), (member) => member.stop()),
      loseMost: () => each(members.slice(1, 2), (member) => member.stop()),
      regain: async () => {
        await each(members.slice(0, 2), (member) => member.resume());
        await servers.ready();
      },
    },
    close: () => servers.close(),
  };
};

async function etcd(): Promise<OperatedStore> {
  const servers = await EtcdCluster.start();
  const nowhere = { hosts: `127.0.0.1:${await freePort()}`, username: 'me', password };
  return {
    reach: { factory: 'etcdStore', given: { hosts: servers.hosts } },
    nowhere: { factory: 'etcdStore', given: nowhere },
    isExamined: false,
    ...replicated(servers),
  };
}

async function redisson(): Promise<OperatedStore> {
  const server = await RedisServer.start();
  const nowhere = `redis://me:${password}@127.0.0.1:${await freePort()}`;
  return {
    reach: { factory: 'redissonStore', given: { redis: server.url } },
    nowhere: { factory: 'redissonStore', given: { redis: nowhere } },
    isExamined: false,
    ...single(server),
  };
}

async function zookeeper(): Promise<OperatedStore> {
  const servers = await ZooKeeperCluster.start();
  const nowhere = { hosts: `127.0.0.1:${await freePort()}`, auth: { user: 'me', password } };
  return {
    reach: { factory: 'zookeeperStore', given: { hosts: servers.hosts } },
    nowhere: { factory: 'zookeeperStore', given: nowhere },
    isExamined: false,
    ...replicated(servers),
  };
}
