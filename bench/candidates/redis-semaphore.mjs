import { Mutex, Semaphore } from 'redis-semaphore';
import { connectIoredis } from './ioredis-client.mjs';
import { installedVersion } from './installed-version.mjs';

/** The `Mutex` of redis-semaphore, and its `Semaphore`. */
export const name = 'redis-semaphore';
export const kind = 'peer';
export const settings = {
  /** README, "Mutex": `new Mutex(redisClient, 'lockingResource')`, and "Semaphore", without options: the defaults. */
  readme: {},
  /** Intervals from 5 to 80 ms gave about the same rate under M13. With longer ones, some callers never got a permit. */
  tuned: { acquireTimeout: Number.POSITIVE_INFINITY, retryInterval: 20 },
};

/** It has no read locks. The nearest substitute is a semaphore with a permit for every reader, which excludes no writer. */
const READERS = 1_000;

export async function open(url, options, sharing) {
  const client = await connectIoredis(url);
  const lockOf = sharing
    ? (key) => new Semaphore(client, key, sharing.limit ?? READERS, options)
    : (key) => new Mutex(client, key, options);
  return {
    version: installedVersion('redis-semaphore'),
    async withLock(key, fn) {
      const lock = lockOf(key);
      await lock.acquire();
      try {
        return await fn();
      } finally {
        await lock.release();
      }
    },
    close: async () => client.disconnect(),
  };
}
