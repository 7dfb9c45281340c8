import { Redlock } from '@sesamecare-oss/redlock';
import { connectIoredis } from './ioredis-client.mjs';
import { installedVersion } from './installed-version.mjs';

export const name = '@sesamecare-oss/redlock';
export const kind = 'peer';
export const settings = {
  /** README, "Configuration" and "Usage": the options, and `using` with the duration of its example. */
  readme: {
    ttl: 5_000,
    api: 'using',
    driftFactor: 0.01,
    retryCount: 10,
    retryDelay: 200,
    retryJitter: 200,
    automaticExtensionThreshold: 500,
  },
  /** README: "Alternatively, locks can be acquired and released directly", which saves the timer of `using`. */
  tuned: {
    ttl: 10_000,
    api: 'acquire/release',
    driftFactor: 0.01,
    retryCount: -1,
    retryDelay: 20,
    retryJitter: 20,
  },
};

export async function open(url, { ttl, api, ...options }) {
  const client = await connectIoredis(url);
  const redlock = new Redlock([client], options);
  return {
    version: installedVersion('@sesamecare-oss/redlock'),
    withLock: api === 'using' ? (key, fn) => redlock.using([key], ttl, fn) : acquireAndRelease(redlock, ttl),
    close: async () => client.disconnect(),
  };
}

function acquireAndRelease(redlock, ttl) {
  return async (key, fn) => {
    const lock = await redlock.acquire([key], ttl);
    try {
      return await fn();
    } finally {
      await lock.release();
    }
  };
}
