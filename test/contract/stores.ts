import type { Redis } from 'ioredis';
import type { LockStore } from '../../lib/stores/port/index.js';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import { methods } from '../../lib/stores/etcd/connection/protocol.js';
import { FallbackLockStore } from '../../lib/stores/fallback/fallback-lock-store.js';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock-store.js';
import { postgresStore } from '../../lib/stores/postgres/index.js';
import { QuorumLockStore } from '../../lib/stores/quorum/quorum-lock-store.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { redissonStore } from '../../lib/stores/redisson/index.js';
import { EtcdServer } from '../support/etcd-server.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { leftoversOf } from '../support/leftovers.js';
import { PostgresServer } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';
import { OrderedMemory } from '../support/ordered-memory.js';
import { NodesOfLocks } from '../support/nodes-of-locks.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { TracedStore } from '../support/traced-store.js';
import { canSetServerClocks } from '../support/server-clock.js';
import { VirtualTime } from '../support/virtual-time.js';
import { ZooKeeperServer } from '../support/zookeeper-server.js';
import type { StoreFactory, StoreUnderTest } from './store-under-test.js';

/** Every store, by the name of its folder under lib/stores. */
export const stores = {
  etcd,
  fallback,
  memory,
  postgres,
  quorum,
  redis,
  redisson,
  zookeeper: () => zookeeper(),
} satisfies Record<string, StoreFactory>;

/** What most stores have in common. */
const USUAL = {
  settled: () => Promise.resolve(),
  delay: 0,
  isInRealTime: !canSetServerClocks,
  canBeLate: true,
  hasOneCounter: true,
  isDecidedByVotes: false,
};

/** A store inside this process. */
const IN_MEMORY = {
  ...USUAL,
  roundTrip: () => Promise.resolve(),
  isInRealTime: false,
  canBeLate: false,
};

/** An ordered queue, whose entries end with a lease or a session. */
const ORDERED = {
  boundsLeasesOfOthers: true,
  freesCrashedInSeconds: true,
  servesAtEndOfLease: true,
  grantsTokensInAnyOrder: true,
};

/** What all stores on Redis have in common, given a client of each server. */
export function onRedis(clients: readonly Redis[], close: () => Promise<void>) {
  return {
    ...USUAL,
    leftovers: async () => (await Promise.all(clients.map(leftoversOf))).flat(),
    clear: async () => void (await Promise.all(clients.map((client) => client.flushall()))),
    roundTrip: (): Promise<unknown> => Promise.all(clients.map((client) => client.ping())),
    close,
  };
}

/** For rules that depend on the end of its sessions. */
export const zookeeperInRealTime: StoreFactory = () => zookeeper(true);

/** What ordered stores have in common, over their driver in memory: no store of the library. */
export const orderedMemory: StoreFactory = async () => {
  const stopTime = await VirtualTime.start();
  let store = new OrderedMemory();
  return {
    ...IN_MEMORY,
    ...ORDERED,
    options: () => ({ store }),
    port: () => store,
    leftovers: async () => [...store.entries.values()].flat().map(({ path }) => path),
    clear: async () => {
      store = new OrderedMemory();
    },
    close: async () => stopTime(),
  };
};

async function behindProxy(
  port: number,
  storeAt: (port: number) => LockStore,
): ReturnType<NonNullable<StoreUnderTest['mortal']>> {
  const proxy = await TcpProxy.before(port);
  return {
    port: storeAt(proxy.port),
    cut: async () => {
      await proxy.refuse();
      proxy.cut();
    },
    close: () => proxy.close(),
  };
}

async function memory(): ReturnType<StoreFactory> {
  const stopTime = await VirtualTime.start();
  let store = new MemoryLockStore();
  return {
    ...IN_MEMORY,
    options: () => ({ store }),
    port: () => store,
    leftovers: async () => {
      // Reads a private field: the port reports only keys that a request names.
      const { locks } = store as unknown as {
        locks: { sweep(now: number): void; holds: Map<string, unknown>; queues: Map<string, unknown> };
      };
      locks.sweep(performance.now());
      return [...locks.holds.keys(), ...[...locks.queues.keys()].map((key) => `queue of ${key}`)];
    },
    clear: async () => {
      store = new MemoryLockStore();
    },
    close: async () => stopTime(),
  };
}

/** Over a store that is always reachable: the fallback must behave like that store. */
async function fallback(): ReturnType<StoreFactory> {
  const inner = await memory();
  return {
    ...inner,
    options: () => ({ store: inner.port(), onUnavailable: 'local' }),
    port: () => new FallbackLockStore(inner.port()),
  };
}

async function quorum(): ReturnType<StoreFactory> {
  const servers = await RedisServer.startAll(5, { clock: canSetServerClocks });
  const stopTime = await VirtualTime.start(...servers.map((server) => [server]));
  const clients = servers.map((server) => server.client());
  const urls = servers.map(({ url }) => url);
  const members = urls.map((url) => new TracedStore(new RedisLockStore(url, 'lock:')));
  const close = async (): Promise<void> => {
    stopTime();
    await Promise.all(servers.map((server) => server.close()));
  };
  return {
    ...onRedis(clients, close),
    options: () => ({ quorum: urls }),
    port: () => new QuorumLockStore(members),
    settled: async () => {
      for (const member of members) await member.settled();
    },
    isListening: async () => {
      const channels = await Promise.all(clients.map((client) => client.pubsub('CHANNELS')));
      return channels.every((names) => Array.isArray(names) && names.length > 0);
    },
    hasOneCounter: false,
    isDecidedByVotes: true,
  };
}

async function oneRedis() {
  const server = await RedisServer.start({ clock: canSetServerClocks });
  const stopTime = await VirtualTime.start([server]);
  const close = (): Promise<void> => {
    stopTime();
    return server.close();
  };
  return { ...onRedis([server.client()], close), url: server.url };
}

async function redis(): ReturnType<StoreFactory> {
  const { url, ...server } = await oneRedis();
  return { ...server, options: () => ({ redis: url }), port: () => new RedisLockStore(url, 'lock:') };
}

async function redisson(): ReturnType<StoreFactory> {
  const { url, ...server } = await oneRedis();
  const port = (): LockStore => redissonStore({ redis: url });
  return { ...server, options: () => ({ store: port() }), port, hasOneCounter: false };
}

async function postgres(): ReturnType<StoreFactory> {
  const server = await PostgresServer.startWithSchema({ clock: canSetServerClocks });
  const stopTime = await VirtualTime.start([server]);
  const client = await server.client();
  const store = new TracedStore(postgresStore({ connection: server.url }));
  let lastRoundTrip: Promise<unknown> = Promise.resolve();
  return {
    ...USUAL,
    options: () => ({ store }),
    port: () => store,
    leftovers: async () => {
      // Clients sweep expired rows only once a minute.
      await client.query('SELECT distributed_lock.sweep()');
      const { rows } = await client.query(
        `SELECT 'hold ' || key AS name FROM distributed_lock.holds
          UNION SELECT 'waiter for ' || key FROM distributed_lock.waiters`,
      );
      return rows.map(({ name }) => String(name));
    },
    clear: async () => {
      await client.query(
        'DELETE FROM distributed_lock.holds; DELETE FROM distributed_lock.waiters; DELETE FROM distributed_lock.tombstones',
      );
    },
    // One after the other: a pg client runs one query at a time.
    roundTrip: () => (lastRoundTrip = lastRoundTrip.then(() => client.query('SELECT 1'))),
    // Each client has its own server process, and these do not wait for each other.
    settled: () => store.settled(),
    delay: 10,
    listensFromStart: true,
    close: () => {
      stopTime();
      return server.close();
    },
  };
}

/** In real time, as etcd's leases are; gRPC also judges connections by its own timers. */
async function etcd(): ReturnType<StoreFactory> {
  const server = await (await EtcdServer.start()).ready();
  const client = server.client();
  await client.open(10_000);
  const store = new TracedStore(etcdStore({ hosts: server.address }));
  const prefix = 'distributed-lock/';
  return {
    ...USUAL,
    ...ORDERED,
    options: () => ({ store }),
    port: () => store,
    leftovers: async () => {
      const range = { do: 'range', key: `${prefix}l/`, end: `${prefix}l0`, serializable: false } as const;
      const { reply } = await client.call(methods.range, range);
      return reply.entries.map(({ key, value }) => `${key} ${value}`);
    },
    clear: async () => {
      const all = { do: 'delete', key: `${prefix}l/`, end: `${prefix}u` } as const;
      await client.call(methods.transaction, { do: 'txn', if: [], then: [all], else: [] });
    },
    roundTrip: () => client.call(methods.range, { do: 'range', key: 'x', serializable: false }),
    settled: () => store.settled(),
    delay: 10,
    isInRealTime: true,
    // Tokens are revisions, and all requests of one tick are written at one revision.
    hasOneCounter: false,
    mortal: () => behindProxy(server.port, (port) => etcdStore({ hosts: `127.0.0.1:${String(port)}` })),
    close: () => server.close(),
  };
}

async function zookeeper(isInRealTime = !canSetServerClocks): ReturnType<StoreFactory> {
  const server = await ZooKeeperServer.start({ clock: !isInRealTime });
  const stopTime = isInRealTime ? undefined : await VirtualTime.start([server]);
  const nodes = await NodesOfLocks.open(server.port);
  // Sessions expire by the clock of the server, which tests can't set.
  const options = isInRealTime ? {} : { sessionTimeout: 1_000_000 };
  const store = new TracedStore(zookeeperStore({ hosts: server.address, ...options }));
  return {
    ...USUAL,
    ...ORDERED,
    options: () => ({ store }),
    port: () => store,
    // The server removes the node of a lock a minute or two after its last entry.
    leftovers: () => nodes.entries(),
    clear: () => nodes.clear(),
    roundTrip: () => nodes.roundTrip(),
    settled: () => store.settled(),
    delay: 10,
    isInRealTime,
    hasSessionsInRealTime: !isInRealTime,
    mortal: () =>
      behindProxy(server.port, (port) => zookeeperStore({ hosts: `127.0.0.1:${String(port)}`, ...options })),
    close: async () => {
      stopTime?.();
      await nodes.close();
      await server.close();
    },
  };
}
