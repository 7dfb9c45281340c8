import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { ClusterSession } from './cluster-session.js';
import {
  redisConnector,
  type RedisConnection,
  type RedisConnector,
  type ServerConnector,
} from './connection/redis-connection.js';
import { RedisSession } from './redis-session.js';
import type { Replicas } from './replicas.js';
import { ReplicatedSession } from './replicated-session.js';
import { KeyNames } from './scripts/key-names.js';
import type { ClusterPart } from './server-session.js';

/**
 * Keeps locks on one Redis server (6.2 or newer) or Valkey server (8.1 or newer), on the primary that Sentinel names,
 * or on a Redis Cluster.
 */
export class RedisLockStore implements LockStore {
  readonly name: string;
  readonly place: string;
  private readonly connector: RedisConnector;
  private readonly names: KeyNames;

  /** @param replicas that must confirm a grant */
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
    const { connector, names, replicas } = this;
    const Session = replicas === undefined ? RedisSession : ReplicatedSession;
    const openServer = (server: ServerConnector, part?: ClusterPart): RedisSession =>
      new Session(server, names, client, replicas, part);
    return connector.kind === 'server'
      ? openServer(connector)
      : new ClusterSession(connector, names, client, openServer);
  }
}
