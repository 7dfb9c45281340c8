import type { DistributedLockOptions, RedisClusterOptions } from '../../lib/index.js';
import type { LockStore } from '../../lib/stores/port/index.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { resolveReplicas } from '../../lib/stores/redis/replicas.js';
import { redissonStore } from '../../lib/stores/redisson/index.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { canSetServerClocks } from '../support/server-clock.js';
import { VirtualTime } from '../support/virtual-time.js';
import type { StoreFactory, StoreUnderTest } from './store-under-test.js';
import { onRedis } from './stores.js';

/** Prevents unintended failovers: clocks jump, and a busy machine stalls. */
const UNDISTURBED = { downAfter: 600_000, clock: canSetServerClocks };
const LASTING = { 'repl-timeout': '1000000', 'cluster-node-timeout': '1000000000' };

/** What the stores on Redis run on besides one server. */
export const topologies = {
  sentinel: () => sentinel(),
  'sentinel with confirmed grants': () => sentinel({ min: 1 }),
  cluster: () => cluster(),
  'cluster with the locks of Redisson': () => cluster((redis) => redissonStore({ redis })),
} satisfies Record<string, StoreFactory>;

async function sentinel(replicas?: { readonly min: number }): Promise<StoreUnderTest> {
  const group = await SentinelGroup.start({ ...UNDISTURBED, settings: LASTING });
  const client = group.client();
  await client.ping();
  // Sentinels use their own clocks.
  const sentinels = group.sentinelServers.map(({ port }) => ({ port, fixClock: () => undefined }));
  const stopTime = await VirtualTime.start(group.servers, sentinels);
  const redis = { sentinels: [...group.sentinels], name: group.name };
  const close = (): Promise<void> => {
    stopTime();
    return group.close();
  };
  return {
    ...onRedis([client], close),
    options: (): DistributedLockOptions => ({ redis, ...(replicas && { replicas }) }),
    port: (): LockStore =>
      new RedisLockStore(redis, 'lock:', replicas && resolveReplicas('replicas', replicas, 30_000)),
  };
}

/** @param storeOf instead of the store of the option `redis` */
async function cluster(storeOf?: (redis: RedisClusterOptions) => LockStore): Promise<StoreUnderTest> {
  const servers = await RedisCluster.start({ replicasEach: 0, clock: canSetServerClocks, settings: LASTING });
  const clients = (await servers.primaries()).map((server) => server.client());
  await Promise.all(clients.map((client) => client.ping()));
  const stopTime = await VirtualTime.start(servers.servers);
  const redis = { nodes: [...servers.nodes] };
  const close = (): Promise<void> => {
    stopTime();
    return servers.close();
  };
  return {
    ...onRedis(clients, close),
    options: (): DistributedLockOptions => (storeOf === undefined ? { redis } : { store: storeOf(redis) }),
    port: (): LockStore => storeOf?.(redis) ?? new RedisLockStore(redis, 'lock:'),
    // Redisson does not put all names of other locks into one slot.
    accepts: (key) => storeOf === undefined || !/[{}]/.test(key),
    hasOneCounter: storeOf === undefined,
  };
}
