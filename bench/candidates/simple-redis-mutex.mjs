import { createClient } from 'redis';
import mutex from 'simple-redis-mutex';
import { installedVersion } from './installed-version.mjs';

/** Supports only node-redis, so its figures include that client instead of ioredis. */
export const name = 'simple-redis-mutex';
export const kind = 'peer';
export const settings = {
  /** README, "Examples": `lock(redis, 'resource-name')` ("all settings are optional"). */
  readme: {},
  /** Releases are announced by a message. Polling recovers from missed messages, by default only after 10 s. */
  tuned: { pollingInterval: 500 },
};

export async function open(url, options) {
  const client = createClient({ url });
  client.on('error', () => undefined);
  await client.connect();
  const withLock = async (key, fn) => {
    const release = await mutex.lock(client, key, options);
    try {
      return await fn();
    } finally {
      await release();
    }
  };
  // The first call subscribes. Many concurrent first calls would each leave a subscription open.
  await withLock('first call', () => undefined);
  return {
    version: `${installedVersion('simple-redis-mutex')} (node-redis ${installedVersion('redis')})`,
    withLock,
    close: async () => client.destroy(),
  };
}
