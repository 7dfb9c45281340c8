import type { Cluster, ClusterOptions, RedisOptions } from 'ioredis';
import { withGuardedNodes } from '../connection/guarded-sockets.js';
import { DISCONNECT_TIMEOUT } from '../connection/own-settings.js';

/** Those of the lock's own for the client that is asked for the map of the cluster. */
export interface DiscoverySettings extends ClusterOptions {
  readonly redisOptions: RedisOptions & { readonly replyMapping: 'legacy' };
}

/** Opens a view of a Redis Cluster: which server has which slots, and how to reach it. */
export interface ClusterConnector {
  readonly kind: 'cluster';
  readonly address: string;
  readonly keyPrefix: string;
  readonly user: string;
  readonly options: ClusterOptions;
  /**
   * @param requestTimeout ms
   * @param pause ms before the cluster is looked for again
   */
  open(requestTimeout: number, pause: () => number): Cluster;
}

export function clusterConnector(
  options: ClusterOptions,
  addresses: readonly string[],
  open: (overrides: DiscoverySettings) => Cluster,
): ClusterConnector {
  const { redisOptions } = options;
  return {
    kind: 'cluster',
    address: addresses.join(', '),
    keyPrefix: options.keyPrefix ?? redisOptions?.keyPrefix ?? '',
    user: redisOptions?.username ?? 'default',
    options,
    open: (requestTimeout, pause) =>
      withGuardedNodes(open(discoverySettings(options, requestTimeout, pause))),
  };
}

/** ioredis is asked for the map of the cluster only. What is sent goes over connections of the lock's own (P31). */
function discoverySettings(
  options: ClusterOptions,
  requestTimeout: number,
  pause: () => number,
): DiscoverySettings {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    // The state of the whole says nothing of the slot that is wanted.
    enableReadyCheck: false,
    shardedSubscribers: false,
    scaleReads: 'master',
    keyPrefix: '',
    clusterRetryStrategy: pause,
    slotsRefreshTimeout: Math.min(options.slotsRefreshTimeout ?? 1_000, requestTimeout),
    slotsRefreshInterval: options.slotsRefreshInterval ?? 5_000,
    redisOptions: {
      ...options.redisOptions,
      keyPrefix: '',
      replyMapping: 'legacy',
      maxRetriesPerRequest: 0,
      disconnectTimeout: DISCONNECT_TIMEOUT,
      connectTimeout: Math.min(options.redisOptions?.connectTimeout ?? requestTimeout, requestTimeout),
    },
  };
}
