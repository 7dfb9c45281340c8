import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { postgresStore, type PostgresStoreOptions } from '../../lib/stores/postgres/index.js';
import { LockApp } from '../support/lock-app.js';
import { PostgresServer, type PostgresServerOptions, type TestPgClient } from '../support/postgres-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

interface AppSettings {
  /** Another way to the server than the straight one. */
  readonly port?: number;
  readonly postgres?: Partial<PostgresStoreOptions>;
  readonly watchdogTimeout?: number;
  readonly shutdownTimeout?: number;
  readonly onUnavailable?: 'throw' | 'local';
}

/** A PostgreSQL of the test's own with applications on it, directly or behind a proxy; ended after each test. */
export class PostgresScene {
  private started: PostgresServer | undefined;
  private readonly apps: LockApp[] = [];
  private readonly proxies: TcpProxy[] = [];

  constructor(options: PostgresServerOptions = {}) {
    beforeAll(async () => {
      this.started = await PostgresServer.startWithSchema(options);
    });
    afterEach(async () => {
      // Applications first, while the server and the proxies that they talk to are there.
      await this.closeApps();
      await Promise.all(this.proxies.splice(0).map((proxy) => proxy.close()));
      const client = await this.server.client();
      await client.query('DELETE FROM distributed_lock.holds; DELETE FROM distributed_lock.waiters');
      await client.end();
    });
    afterAll(async () => {
      await this.started?.close();
    });
  }

  get server(): PostgresServer {
    if (!this.started) throw new Error('the server is there only while tests run');
    return this.started;
  }

  async app({ port = this.server.port, postgres, ...settings }: AppSettings = {}): Promise<LockApp> {
    const store = postgresStore({ connection: this.server.urlOf(port), ...postgres });
    const app = await LockApp.start({ store, shutdownTimeout: 50, ...settings });
    this.apps.push(app);
    return app;
  }

  async closeApps(): Promise<void> {
    await Promise.all(this.apps.splice(0).map((app) => app.close()));
  }

  async proxy(): Promise<TcpProxy> {
    const proxy = await TcpProxy.before(this.server.port);
    this.proxies.push(proxy);
    return proxy;
  }

  key(): string {
    return `key-${randomUUID()}`;
  }

  client(): Promise<TestPgClient> {
    return this.server.client();
  }

  /** Rows of whatever holds or waits, after what is over has been swept. */
  async leftovers(): Promise<number> {
    const client = await this.client();
    try {
      await client.query('SELECT distributed_lock.sweep()');
      const { rows } = await client.query(
        'SELECT (SELECT count(*) FROM distributed_lock.holds) + (SELECT count(*) FROM distributed_lock.waiters) AS n',
      );
      return Number(rows[0]?.['n']);
    } finally {
      await client.end();
    }
  }

  async nothingLeft(): Promise<void> {
    await until('nothing is left in PostgreSQL', async () => (await this.leftovers()) === 0);
  }
}
