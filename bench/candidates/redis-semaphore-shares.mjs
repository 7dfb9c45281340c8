import { Semaphore } from 'redis-semaphore';
import { connectIoredis } from './ioredis-client.mjs';
import { installedVersion } from './installed-version.mjs';

/** The `Semaphore` of redis-semaphore. */
export const name = 'redis-semaphore';
export const kind = 'peer';
export const settings = {
  /** README, "Semaphore": `new Semaphore(redisClient, 'lockingResource', 5)`, all options left out. */
  readme: {},
  /** Intervals from 5 to 80 ms gave about the same rate under M13. With longer ones, some callers never got a permit. */
  tuned: { acquireTimeout: Number.POSITIVE_INFINITY, retryInterval: 20 },
};

/** It has no read locks. The nearest substitute is a semaphore with a permit for every reader, which excludes no writer. */
const READERS = 1_000;

/** @param {import('./candidates.mjs').Sharing} sharing */
export async function open(url, options, { limit = READERS }) {
  const client = await connectIoredis(url);
  return {
    version: installedVersion('redis-semaphore'),
    async withLock(key, fn) {
      const semaphore = new Semaphore(client, key, limit, options);
      await semaphore.acquire();
      try {
        return await fn();
      } finally {
        await semaphore.release();
      }
    },
    close: async () => client.disconnect(),
  };
}
