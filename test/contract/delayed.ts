import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { elapse } from '../support/until.js';
import { canSetServerClocks } from '../support/server-clock.js';
import { VirtualTime } from '../support/virtual-time.js';
import type { StoreFactory, StoreUnderTest } from './store-under-test.js';
import { onRedis } from './stores.js';

/** One server at a distance, given by the time that a request and its reply need. */
export const delayed = {
  'redis-10ms': () => redisAway(10),
  'redis-40ms': () => redisAway(40),
} satisfies Record<string, StoreFactory>;

async function redisAway(delay: number): Promise<StoreUnderTest> {
  const server = await RedisServer.start({ clock: canSetServerClocks });
  const proxy = await TcpProxy.before(server.port);
  proxy.delay(delay);
  const near = server.client();
  const stopTime = await VirtualTime.start([server]);
  const close = async (): Promise<void> => {
    stopTime();
    await proxy.close();
    await server.close();
  };
  return {
    ...onRedis([near], close),
    options: () => ({ redis: proxy.url }),
    port: () => new RedisLockStore(proxy.url, 'lock:'),
    roundTrip: async () => {
      await elapse(delay);
      await near.ping();
    },
    delay,
  };
}
