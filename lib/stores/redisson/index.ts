import { checkKeyPrefix, checkNames, checkObject } from '../../model/option-checks.js';
import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { ClusterSession } from '../redis/cluster-session.js';
import {
  checkRedisConnection,
  redisConnector,
  type RedisConnection,
  type ServerConnector,
} from '../redis/connection/redis-connection.js';
import { resolveReplicas, type ReplicaOptions } from '../redis/replicas.js';
import type { ClusterPart } from '../redis/server-session.js';
import { RedissonKeyNames } from './redisson-names.js';
import { RedissonSession, whyUnsupported } from './redisson-session.js';

export type { LockStore } from '../port/lock-store.js';
export type { RedisConnection } from '../redis/connection/redis-connection.js';
export type { ReplicaOptions } from '../redis/replicas.js';

/** Options of {@link redissonStore}. */
export interface RedissonStoreOptions {
  /**
   * How to reach the Redis of the Java services: like the option `redis` of the module. The `keyPrefix` of a client
   * precedes every name.
   */
  readonly redis: RedisConnection;
  /**
   * The prefix of the locks' names: at most 256 bytes of UTF-8. Set it if the Java services use a `NameMapper` that
   * adds one.
   *
   * @default ''
   */
  readonly keyPrefix?: string | undefined;
  /**
   * How many replicas must have a grant before it counts. Redisson waits for replicas by default
   * (`checkLockSyncedSlaves`).
   *
   * @default none
   */
  readonly replicas?: ReplicaOptions | undefined;
}

const WHERE = 'redissonStore';
const KNOWN = new Set(['redis', 'keyPrefix', 'replicas']);

/**
 * Creates a store that keeps locks where and how Redisson keeps its `RLock` and `RFencedLock`, so that Java and Node.js
 * processes exclude each other: for `DistributedLockModule.forRoot({ store: redissonStore({ … }) })`. It connects when
 * the module starts.
 *
 * @throws LockOptionsError for invalid options, and if `ioredis` is not installed
 */
export function redissonStore(options: RedissonStoreOptions): LockStore {
  checkNames(WHERE, checkObject(WHERE, options), KNOWN);
  const { redis, keyPrefix = '', replicas } = options;
  checkRedisConnection(redis);
  checkKeyPrefix(WHERE, keyPrefix);
  const connector = redisConnector(redis);
  const isCluster = connector.kind === 'cluster';
  const names = new RedissonKeyNames(connector.keyPrefix + keyPrefix, isCluster);
  const open = (client: LockStoreClient): LockStoreSession => {
    const where = `${WHERE}: replicas`;
    const confirmedBy =
      replicas === undefined ? undefined : resolveReplicas(where, replicas, client.watchdogTimeout);
    const openServer = (server: ServerConnector, part?: ClusterPart): RedissonSession =>
      new RedissonSession(server, names, client, confirmedBy, part);
    const session: LockStoreSession =
      connector.kind === 'server'
        ? openServer(connector)
        : new ClusterSession(connector, names, client, openServer);
    // Redisson's servers can't raise tokens.
    Object.defineProperties(session, { raise: { value: undefined }, raiseTokens: { value: undefined } });
    session.whyUnsupported = whyUnsupported;
    return session;
  };
  return {
    name: `Redisson's locks in ${isCluster ? 'Redis Cluster' : 'Redis'} at ${connector.address}`,
    // Keys of a hash of Java look like owners, too.
    place: `prefix ${JSON.stringify(names.prefix)} (other hashes may be among them)`,
    open,
  };
}
