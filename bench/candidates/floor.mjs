import { randomUUID } from 'node:crypto';
import { connectIoredis } from './ioredis-client.mjs';
import { installedVersion } from './installed-version.mjs';

/** The minimum for Redis: one SET acquires, one script releases. Both are awaited. */
export const name = 'floor: SET NX PX + EVALSHA';
export const kind = 'floor';
export const settings = { readme: { ttl: 30_000 } };

const COMPARE_AND_DELETE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`;

export async function open(url, { ttl }) {
  const client = await connectIoredis(url);
  const script = await client.script('LOAD', COMPARE_AND_DELETE);
  const owner = randomUUID();
  let holds = 0;
  return {
    version: `ioredis ${installedVersion('ioredis')}`,
    async withLock(key, fn) {
      const value = `${owner}:${++holds}`;
      if ((await client.set(key, value, 'PX', ttl, 'NX')) !== 'OK') throw new Error(`${key} is held`);
      try {
        return await fn();
      } finally {
        await client.evalsha(script, 1, key, value);
      }
    },
    close: async () => client.disconnect(),
  };
}
