import { Mutex } from 'redis-semaphore';
import { connectIoredis } from './ioredis-client.mjs';
import { installedVersion } from './installed-version.mjs';

/** The `Mutex` of redis-semaphore. */
export const name = 'redis-semaphore';
export const kind = 'peer';
export const settings = {
  /** README, "Mutex": `new Mutex(redisClient, 'lockingResource')`, without options: its defaults. */
  readme: {},
  tuned: { acquireTimeout: Number.POSITIVE_INFINITY, retryInterval: 20 },
};

export async function open(url, options) {
  const client = await connectIoredis(url);
  return {
    version: installedVersion('redis-semaphore'),
    async withLock(key, fn) {
      const mutex = new Mutex(client, key, options);
      await mutex.acquire();
      try {
        return await fn();
      } finally {
        await mutex.release();
      }
    },
    close: async () => client.disconnect(),
  };
}
