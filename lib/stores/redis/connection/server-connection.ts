import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { LockStoreError, type StoreConnection } from '../../port/lock-store.js';
import type { OperationsCommand } from './acl-rules.js';
import type { ServerConnector } from './redis-connection.js';
import { adviceOn } from '../../port/store-failure.js';
import { redisRemedies } from './redis-remedies.js';
import { notConnected, redisFailure } from './redis-failure.js';

/** The connection to one server over which requests go, and what is known of it. */
export class ServerConnection {
  readonly redis: Redis;
  /** Counts the connections: what was written on one says nothing of another. */
  count = 0;

  private failure: Error | undefined;
  private databaseFailure: Error | undefined;
  private isLate = false;
  private closed = false;
  /** Beside the one for requests, as long as they are there or try to be. */
  private readonly others = new Set<Redis>();

  constructor(
    private readonly connector: ServerConnector,
    private readonly requestTimeout: number,
    listener: {
      /** It is there, and was not there before or when it was wanted. */
      back(): void;
      lost(): void;
    },
  ) {
    this.redis = connector.connect(requestTimeout);
    this.redis.on('error', (error: Error & { command?: { name?: string } }) => {
      this.failure = error;
      // ioredis goes on without the database that was asked for; locks must not.
      if (error.command?.name === 'select') this.databaseFailure = error;
    });
    this.redis.on('close', () => {
      this.databaseFailure = undefined;
      this.count += 1;
      listener.lost();
    });
    this.redis.on('ready', () => {
      this.failure = undefined;
      if (this.isLate) listener.back();
      this.isLate = true;
    });
  }

  /** Rejects with a `LockStoreError` if the server is not there yet; it goes on trying. */
  async open(): Promise<void> {
    try {
      await this.firstConnection();
    } catch (error) {
      this.isLate = true; // the first connection comes late, so that waiters want to hear of it
      throw notConnected(this.failure ?? (error as Error));
    }
    this.checkDatabase();
  }

  /** One more connection to the server, not yet opened. Throws after `close()`, which would not close it any more. */
  another(): Redis {
    if (this.closed) throw notConnected(this.failure);
    const client = this.connector.connect(this.requestTimeout);
    this.others.add(client);
    client.on('end', () => {
      // It may go on looking for a primary.
      if (client.status === 'end') this.others.delete(client);
    });
    return client;
  }

  /** Those for requests and for messages, for people. */
  connections(address: string): readonly StoreConnection[] {
    const all = [this.redis, ...this.others];
    return all.map((redis, index) => ({
      name: `${address} ${index === 0 ? 'requests' : 'messages'}`,
      isOpen: redis.status === 'ready',
    }));
  }

  /** Nothing is sent on a connection that is down, so that nothing arrives late (P31). */
  check(): void {
    if (this.redis.status !== 'ready') throw notConnected(this.failure);
    this.checkDatabase();
  }

  /** Sends a command by itself; rejects with a `LockStoreError`. */
  async do<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      this.check();
      return await command(this.redis);
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  /**
   * The same, of a command that locks do without, so that the user may lack the right to it.
   *
   * @param purpose what can't be done then
   */
  async doForPeople<T>(
    name: OperationsCommand,
    purpose: string,
    command: (redis: Redis) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.do(command);
    } catch (error) {
      const failure = this.failureOf(error);
      if (!failure.message.includes('NOPERM')) throw failure;
      const { address, user } = this.connector;
      throw new LockStoreError(
        `the user "${user}" of Redis at ${address} may not use ${name.toUpperCase()}, so that ${purpose}; locks do not ` +
          `need it. To allow it: ACL SETUSER ${user} +${name}`,
        { inDoubt: false, retryable: false, cause: failure },
      );
    }
  }

  /** What an error of ioredis means for the request. */
  failureOf(error: unknown): LockStoreError {
    return redisFailure(error, this.failure);
  }

  close(): void {
    this.closed = true;
    for (const client of [this.redis, ...this.others]) client.disconnect();
  }

  /** Sentinel is asked again and again while it can't name a primary; the application need not wait for that. */
  private async firstConnection(): Promise<void> {
    if (!this.redis.options.sentinels) {
      await this.redis.connect();
      return;
    }
    const refused = once(this.redis, 'error').then(([error]: unknown[]) => Promise.reject(error as Error));
    await Promise.race([this.redis.connect(), refused]);
  }

  private checkDatabase(): void {
    if (this.databaseFailure === undefined) return;
    throw new LockStoreError(`Redis does not have the database (${this.databaseFailure.message})`, {
      inDoubt: false,
      retryable: false,
      remedy: adviceOn('database', redisRemedies),
    });
  }
}
