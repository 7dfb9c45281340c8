import { FallbackLockStore } from '../../lib/stores/fallback/fallback-lock-store.js';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock-store.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { RedisServer } from '../support/redis-server.js';
import type { StoreFactory } from './store-under-test.js';

/** Every store, by the name of its folder under lib/stores. */
export const stores = { fallback, memory, redis } satisfies Record<string, StoreFactory>;

async function memory(): ReturnType<StoreFactory> {
  let store = new MemoryLockStore();
  return {
    options: () => ({ store }),
    port: () => store,
    leftovers: async () => {
      // There is no other way to see that nothing is kept: the store answers only about keys that it is asked for.
      const { locks } = store as unknown as {
        locks: { sweep(now: number): void; holds: Map<string, unknown>; queues: Map<string, unknown> };
      };
      locks.sweep(performance.now());
      return [...locks.holds.keys(), ...[...locks.queues.keys()].map((key) => `queue of ${key}`)];
    },
    clear: async () => {
      store = new MemoryLockStore();
    },
    roundTrip: () => Promise.resolve(),
    canBeLate: false,
    close: () => Promise.resolve(),
  };
}

/** Over a store that is always there: whatever it does beyond that store must not be seen. */
async function fallback(): ReturnType<StoreFactory> {
  const inner = await memory();
  return {
    ...inner,
    options: () => ({ store: inner.port(), onUnavailable: 'local' }),
    port: () => new FallbackLockStore(inner.port()),
  };
}

async function redis(): ReturnType<StoreFactory> {
  const server = await RedisServer.start();
  const client = server.client();
  return {
    options: () => ({ redis: server.url }),
    port: () => new RedisLockStore(server.url, 'lock:'),
    leftovers: async () => {
      const keys = await client.keys('*');
      const types = await Promise.all(keys.map((key) => client.type(key)));
      // Tombstones and the fencing counter are plain strings; what holds or queues is not.
      return keys.filter((_, index) => types[index] !== 'string' && types[index] !== 'none');
    },
    clear: async () => void (await client.flushall()),
    roundTrip: () => client.ping(),
    canBeLate: true,
    close: () => server.close(),
  };
}
