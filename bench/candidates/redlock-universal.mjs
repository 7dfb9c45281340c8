import { createLock, IoredisAdapter } from 'redlock-universal';
import { connectIoredis } from './ioredis-client.mjs';
import { installedVersion } from './installed-version.mjs';

export const name = 'redlock-universal';
export const kind = 'peer';
export const settings = {
  /** README, "Quick Start": `createLock({ adapter, key, ttl: 30000 })` and `using`; by default it retries 3 times, every 100 ms. */
  readme: { api: 'using', ttl: 30_000 },
  /** README, "Performance Modes" and "Manual Control": lean, without the timer of `using`. */
  tuned: {
    api: 'acquire/release',
    ttl: 30_000,
    performance: 'lean',
    retryAttempts: Number.MAX_SAFE_INTEGER,
    retryDelay: 20,
  },
};

export async function open(url, { api, ...options }) {
  const client = await connectIoredis(url);
  const adapter = new IoredisAdapter(client);
  return {
    version: installedVersion('redlock-universal'),
    withLock:
      api === 'using'
        ? (key, fn) => createLock({ adapter, key, ...options }).using(fn)
        : acquireAndRelease(adapter, options),
    close: async () => client.disconnect(),
  };
}

function acquireAndRelease(adapter, options) {
  return async (key, fn) => {
    const lock = createLock({ adapter, key, ...options });
    const handle = await lock.acquire();
    try {
      return await fn();
    } finally {
      await lock.release(handle);
    }
  };
}
