import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { LockStoreError, type StoreConnection } from '../../port/lock-store.js';
import { adviceOn } from '../../port/store-failure.js';
import type { ServerConnector } from './redis-connection.js';
import { notConnected, redisFailure, redisRemedies } from './redis-failure.js';

/** The connection for the requests to one server, and its events. */
export class ServerConnection {
  readonly redis: Redis;
  /** The number of the current connection; writes of earlier ones are not covered by it. */
  count = 0;
  /** Why nothing may be sent, although the server is reachable. */
  refusal: LockStoreError | undefined;

  private failure: Error | undefined;
  private wasExpected = false;
  private closed = false;
  /** Connections besides the one for requests, while they are up or trying to connect. */
  private readonly others = new Set<Redis>();

  constructor(
    readonly connector: ServerConnector,
    private readonly requestTimeout: number,
    listener: {
      /** The connection is up after it was lost, or after `open` rejected. */
      back(): void;
      lost(): void;
    },
  ) {
    this.redis = connector.create(requestTimeout);
    this.redis.on('error', (error: Error & { command?: { name?: string } }) => {
      this.failure = error;
      // ioredis continues in another database than the selected one; locks must not.
      if (error.command?.name === 'select') this.refusal = withoutDatabase(error);
    });
    this.redis.on('close', () => {
      this.refusal = undefined;
      this.count += 1;
      listener.lost();
    });
    this.redis.on('ready', () => {
      this.failure = undefined;
      if (this.wasExpected) listener.back();
      this.wasExpected = true;
    });
  }

  /** Rejects with a `LockStoreError` if the server is unreachable; the connection keeps trying. */
  async open(): Promise<void> {
    try {
      await this.firstConnection();
    } catch (error) {
      this.wasExpected = true;
      throw notConnected(this.failure ?? (error as Error));
    }
    if (this.refusal !== undefined) throw this.refusal;
  }

  /** Opens a connection that `another` has created. */
  connect(client: Redis): Promise<void> {
    return this.connector.connect(client);
  }

  /** Creates one more connection, not yet open. Throws after `close()`, which could no longer close it. */
  another(): Redis {
    if (this.closed) throw notConnected(this.failure);
    const client = this.connector.create(this.requestTimeout);
    this.others.add(client);
    client.on('end', () => {
      // It may be looking for a primary again.
      if (client.status === 'end') this.others.delete(client);
    });
    return client;
  }

  connections(): readonly StoreConnection[] {
    return [this.redis, ...this.others].map((redis, index) => ({
      name: `${this.connector.address} ${index === 0 ? 'requests' : 'messages'}`,
      isOpen: redis.status === 'ready',
    }));
  }

  /** Throws unless the connection is up. Requests are sent at once or not at all, so that none arrives late. */
  check(): void {
    if (this.redis.status !== 'ready') throw notConnected(this.failure);
    if (this.refusal !== undefined) throw this.refusal;
  }

  /** Sends a single command. Rejects with a `LockStoreError`. */
  async do<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      this.check();
      return await command(this.redis);
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  /** The failure of the request for an error of ioredis. */
  failureOf(error: unknown): LockStoreError {
    return redisFailure(error, this.failure);
  }

  close(): void {
    this.closed = true;
    for (const client of [this.redis, ...this.others]) client.disconnect();
  }

  /** ioredis asks sentinels indefinitely while they can't name a primary; the application does not wait for that. */
  private async firstConnection(): Promise<void> {
    if (!this.redis.options.sentinels) {
      await this.connector.connect(this.redis);
      return;
    }
    const failed = once(this.redis, 'error').then(([error]: unknown[]) => Promise.reject(error as Error));
    await Promise.race([this.connector.connect(this.redis), failed]);
  }
}

function withoutDatabase({ message }: Error): LockStoreError {
  return new LockStoreError(`Redis does not have the database (${message})`, {
    inDoubt: false,
    retryable: false,
    remedy: adviceOn('database', redisRemedies),
  });
}
