import Redlock from 'redlock';
import { connectIoredis } from './ioredis-client.mjs';
import { installedVersion } from './installed-version.mjs';

/** npm's `latest` is 4.2.0; the 5.0.0 betas never became a release and live on as `@sesamecare-oss/redlock`. */
export const name = 'redlock';
export const kind = 'peer';
export const settings = {
  /** README, "Configuration" and "Locking & Unlocking": the options and the ttl of its example. */
  readme: { ttl: 1_000, driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 200 },
  tuned: { ttl: 10_000, driftFactor: 0.01, retryCount: -1, retryDelay: 40, retryJitter: 40 },
};

export async function open(url, { ttl, ...options }) {
  const client = await connectIoredis(url);
  const redlock = new Redlock([client], options);
  return {
    version: installedVersion('redlock'),
    async withLock(key, fn) {
      const lock = await redlock.lock(key, ttl);
      try {
        return await fn();
      } finally {
        await lock.unlock();
      }
    },
    close: async () => client.disconnect(),
  };
}
