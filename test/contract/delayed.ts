import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { elapse } from '../support/until.js';
import { canSetServerClocks } from '../support/server-clock.js';
import { VirtualTime } from '../support/virtual-time.js';
import type { StoreFactory, StoreUnderTest } from './store-under-test.js';
import { leftoversOf } from '../support/leftovers.js';

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
  return {
    options: () => ({ redis: proxy.url }),
    port: () => new RedisLockStore(proxy.url, 'lock:'),
    leftovers: () => leftoversOf(near),
    clear: async () => void (await near.flushall()),
    roundTrip: async () => {
      await elapse(delay);
      await near.ping();
    },
    settled: () => Promise.resolve(),
    delay,
    isInRealTime: !canSetServerClocks,
    canBeLate: true,
    hasOneCounter: true,
    isDecidedByVotes: false,
    close: async () => {
      stopTime();
      await proxy.close();
      await server.close();
    },
  };
}
