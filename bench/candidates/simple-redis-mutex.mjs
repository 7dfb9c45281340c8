import { createClient } from 'redis';
import mutex from 'simple-redis-mutex';
import { installedVersion } from './installed-version.mjs';

/** Works with node-redis only, so its figures contain that client in the place of ioredis. */
export const name = 'simple-redis-mutex';
export const kind = 'peer';
export const settings = {
  /** README, "Examples": `lock(redis, 'resource-name')` ("all settings are optional"). */
  readme: {},
  /** Releases are told by a message; polling repairs what was missed, by default only after 10 s. */
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
  // The first call opens its subscription; many first calls at once would open one each, and leave them open.
  await withLock('first call', () => undefined);
  return {
    version: `${installedVersion('simple-redis-mutex')} (node-redis ${installedVersion('redis')})`,
    withLock,
    close: async () => client.destroy(),
  };
}
