import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { ClusterSession } from './cluster/cluster-session.js';
import { KeyNames } from './scripts/key-names.js';
import {
  redisConnector,
  type RedisConnection,
  type RedisConnector,
  type ServerConnector,
} from './connection/redis-connection.js';
import { RedisSession } from './redis-session.js';
import type { Replicas } from './replicas/replicas.js';
import { ReplicatedSession } from './replicas/replicated-session.js';
import type { ClusterPart, ServerSession } from './connection/server-session.js';

/**
 * Locks on one Redis server (6.2 or newer) or Valkey server (7.2 or newer), on the primary that Sentinel names, or on a
 * Redis Cluster.
 */
export class RedisLockStore implements LockStore {
  readonly name: string;
  readonly place: string;
  private readonly connector: RedisConnector;
  private readonly names: KeyNames;

  /** @param replicas that have to confirm a grant */
  constructor(
    connection: RedisConnection,
    keyPrefix: string,
    private readonly replicas?: Replicas,
  ) {
    this.connector = redisConnector(connection);
    const isCluster = this.connector.kind === 'cluster';
    this.name = `${isCluster ? 'Redis Cluster' : 'Redis'} at ${this.connector.address}`;
    const prefix = this.connector.keyPrefix + keyPrefix;
    this.place = `prefix ${JSON.stringify(prefix)}`;
    this.names = new KeyNames(prefix, isCluster);
  }

  open(client: LockStoreClient): LockStoreSession {
    const { connector, names } = this;
    if (connector.kind === 'server') return this.openServer(connector, client);
    return new ClusterSession(connector, names, client, (server, member, part) =>
      this.openServer(server, member, part),
    );
  }

  private openServer(
    connector: ServerConnector,
    client: LockStoreClient,
    cluster?: ClusterPart,
  ): ServerSession {
    const { names, replicas } = this;
    if (replicas === undefined) return new RedisSession(connector, names, client, undefined, cluster);
    return new ReplicatedSession(
      (inner) => new RedisSession(connector, names, inner, replicas, cluster),
      client,
      replicas,
    );
  }
}
