import type { LockStore, LockStoreClient, LockStoreSession } from '../lock-store.js';
import { KeyNames } from './key-names.js';
import { redisConnector, type RedisConnection, type RedisConnector } from './redis-connection.js';
import { RedisSession } from './redis-session.js';

/** Locks on one Redis server (6.2 or newer) or Valkey server (7.2 or newer). */
export class RedisLockStore implements LockStore {
  readonly name: string;
  private readonly connector: RedisConnector;
  private readonly names: KeyNames;

  constructor(connection: RedisConnection, keyPrefix: string) {
    this.connector = redisConnector(connection);
    this.name = `Redis at ${this.connector.address}`;
    this.names = new KeyNames(this.connector.keyPrefix + keyPrefix);
  }

  open(client: LockStoreClient): LockStoreSession {
    return new RedisSession(this.connector, this.names, client);
  }
}
