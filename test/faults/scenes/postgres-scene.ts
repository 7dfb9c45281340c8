import type { LockStore, LockStoreClient, LockStoreSession } from '../../../lib/stores/port/index.js';
import { PushedGrants } from '../../../lib/stores/port/pushed-grants.js';
import {
  postgresMigration,
  postgresStore,
  type PostgresStoreOptions,
} from '../../../lib/stores/postgres/index.js';
import {
  PostgresServer,
  type PostgresServerOptions,
  type TestPgClient,
} from '../../support/postgres-server.js';
import type { ProxiedConnection } from '../../support/tcp-proxy.js';
import { StoreScene, type Fits } from './store-scene.js';

/** What is called in place of the messages of a client. */
const silenced = new WeakMap<LockStoreClient, () => void>();
const { receive } = PushedGrants.prototype;
PushedGrants.prototype.receive = function (text): void {
  const missed = silenced.get((this as unknown as { readonly client: LockStoreClient }).client);
  if (missed === undefined) receive.call(this, text);
  else missed();
};

export class PostgresScene extends StoreScene<PostgresServer, PostgresStoreOptions> {
  readonly title = 'PostgreSQL';
  /** Holds are rows, independent of connections; see postgres-connections.test.ts. */
  override readonly keepsLocksInSessions = false;
  override readonly brings = ({ subscribes }: ProxiedConnection): boolean => subscribes;

  constructor(options: PostgresServerOptions = {}) {
    super(() => PostgresServer.startWithSchema(options));
  }

  storeAt(port: number, options: Partial<PostgresStoreOptions> = {}): LockStore {
    return postgresStore({ connection: this.server.urlOf(port), ...options });
  }

  workerOptions(port: number, isSecure = false): object {
    const connection = { host: '127.0.0.1', port, user: 'postgres', database: 'postgres', ssl: isSecure };
    return { postgres: { connection } };
  }

  queues(key: string): Fits {
    return (request) => request.includes(key) && request.includes('"wait":true');
  }

  asks(key: string): Fits {
    return (request) => request.includes(`"do":"ask","key":"${key}"`);
  }

  client(): Promise<TestPgClient> {
    return this.server.client();
  }

  /** All rows after a sweep of expired ones. */
  async leftovers(): Promise<readonly unknown[]> {
    return await this.query(
      `SELECT distributed_lock.sweep();
       SELECT key FROM distributed_lock.holds UNION ALL SELECT key FROM distributed_lock.waiters`,
    );
  }

  async deleteLocks(): Promise<void> {
    await this.query('DELETE FROM distributed_lock.holds; DELETE FROM distributed_lock.waiters');
  }

  async loseData(): Promise<void> {
    await this.query(`DROP SCHEMA distributed_lock CASCADE; ${postgresMigration()}`);
  }

  endSessions(): Promise<void> {
    throw new Error('the end of a connection ends no hold');
  }

  protected silence(_: LockStoreSession, missed: () => void, client: LockStoreClient): void {
    silenced.set(client, missed);
  }

  protected override clear(): Promise<void> {
    return this.deleteLocks();
  }

  /** The rows of the last statement. */
  async query(text: string): Promise<readonly unknown[]> {
    const client = await this.client();
    try {
      const answers: unknown = await client.query(text);
      const last = (Array.isArray(answers) ? answers.at(-1) : answers) as {
        readonly rows: readonly unknown[];
      };
      return last.rows;
    } finally {
      await client.end();
    }
  }
}
