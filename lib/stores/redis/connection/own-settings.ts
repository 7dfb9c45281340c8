import { isReplica } from './redis-failure.js';
import type { ClusterOptions, RedisOptions } from 'ioredis';
import { KEEP_ALIVE, pauseBeforeConnecting } from '../../port/times.js';

/**
 * How long ioredis waits for the server to close its end of a connection, ms. It waits on every disconnect, even when
 * the connection is already down. Its default of 2 s would delay the end of the process by as much, and a
 * failover away from a primary that hangs.
 */
const DISCONNECT_TIMEOUT = 100;

/** Replies have the shapes common to every version of ioredis. */
export type OwnSettings = RedisOptions & { readonly replyMapping: 'legacy' };

/**
 * Overrides the user's settings so that ioredis sends nothing twice or late: no queue of unsent commands, no resending
 * after a reconnect, no retries.
 */
export function ownSettings(options: RedisOptions, requestTimeout: number): OwnSettings {
  const { keepAlive = 0 } = options;
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    // The server has become a replica: reconnect to find the new primary. The command is not sent again.
    reconnectOnError: ({ message }) => isReplica(message),
    retryStrategy: (times) => pauseBeforeConnecting(times - 1, requestTimeout),
    enableAutoPipelining: false,
    connectTimeout: Math.min(options.connectTimeout ?? 5_000, 5_000),
    disconnectTimeout: DISCONNECT_TIMEOUT,
    // `ReplyWatch` closes a connection that owes a reply.
    commandTimeout: undefined,
    socketTimeout: undefined,
    // The default of ioredis 5 is 0, the time of the operating system.
    keepAlive: keepAlive > 0 ? keepAlive : KEEP_ALIVE,
    keyPrefix: '',
    stringNumbers: false,
    replyMapping: 'legacy',
    monitor: false,
    readOnly: false,
    ...(options.sentinels && sentinelSettings(options, requestTimeout)),
  };
}

/** For servers found by Sentinel. */
function sentinelSettings(options: RedisOptions, requestTimeout: number): Omit<RedisOptions, 'replyMapping'> {
  return {
    role: 'master',
    // Reports a failover even if the old primary hangs.
    failoverDetector: true,
    sentinelCommandTimeout: Math.min(options.sentinelCommandTimeout ?? requestTimeout, requestTimeout),
    sentinelRetryStrategy: (times) => pauseBeforeConnecting(times - 1, requestTimeout),
    // Sentinels name the dead primary until they have promoted another. A client with longer pauses finds the new
    // primary late, and may lose a grant pushed at the moment of the death: its lease is 2 s.
    retryStrategy: (times) => pauseBeforeConnecting(times - 1, 250),
  };
}

/** Settings of the client that reads the slot map of a cluster. */
export interface DiscoverySettings extends ClusterOptions {
  readonly redisOptions: OwnSettings;
}

/**
 * ioredis only reads the slot map of the cluster. Requests use separate connections.
 *
 * @param pause ms before the next attempt to reach the cluster
 */
export function discoverySettings(
  options: ClusterOptions,
  requestTimeout: number,
  pause: () => number,
): DiscoverySettings {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    // The state of the whole cluster does not show that of one slot.
    enableReadyCheck: false,
    shardedSubscribers: false,
    scaleReads: 'master',
    keyPrefix: '',
    clusterRetryStrategy: pause,
    slotsRefreshTimeout: Math.min(options.slotsRefreshTimeout ?? 1_000, requestTimeout),
    // `ClusterMap` does it: the timer of ioredis goes on if the client is closed during a read of the map.
    slotsRefreshInterval: 0,
    redisOptions: {
      ...options.redisOptions,
      keyPrefix: '',
      stringNumbers: false,
      commandTimeout: undefined,
      replyMapping: 'legacy',
      maxRetriesPerRequest: 0,
      disconnectTimeout: DISCONNECT_TIMEOUT,
      connectTimeout: Math.min(options.redisOptions?.connectTimeout ?? requestTimeout, requestTimeout),
    },
  };
}
