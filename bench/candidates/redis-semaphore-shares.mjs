import { Semaphore } from 'redis-semaphore';
import { connectIoredis } from './ioredis-client.mjs';
import { installedVersion } from './installed-version.mjs';

/** Its `Semaphore`. */
export const name = 'redis-semaphore';
export const kind = 'peer';
export const settings = {
  /** README, "Semaphore": `new Semaphore(redisClient, 'lockingResource', 5)`, all options left out. */
  readme: {},
  /** Intervals from 5 to 80 ms served about as many under M13; with longer ones some callers were never served. */
  tuned: { acquireTimeout: Number.POSITIVE_INFINITY, retryInterval: 20 },
};

/** It has no readers: the nearest is a semaphore with room for all of them, which keeps no writer out. */
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
