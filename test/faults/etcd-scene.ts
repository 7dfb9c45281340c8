import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Endpoint } from '../../lib/stores/etcd/connection/endpoint.js';
import { etcdStore, type EtcdStoreOptions } from '../../lib/stores/etcd/index.js';
import { methods } from '../../lib/stores/etcd/protocol/methods.js';
import type { KeyValue } from '../../lib/stores/etcd/protocol/replies.js';
import { EtcdServer, type EtcdServerOptions } from '../support/etcd-server.js';
import { LockApp } from '../support/lock-app.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

interface AppSettings {
  /** Another way to the server than the straight one. */
  readonly port?: number;
  readonly etcd?: Partial<EtcdStoreOptions>;
  readonly watchdogTimeout?: number;
  readonly shutdownTimeout?: number;
  readonly onUnavailable?: 'throw' | 'local';
}

const PREFIX = 'distributed-lock/';

/** An etcd of the test's own with applications on it, directly or behind a proxy; ended after each test. */
export class EtcdScene {
  private started: EtcdServer | undefined;
  private readonly apps: LockApp[] = [];
  private readonly proxies: TcpProxy[] = [];

  constructor(options: EtcdServerOptions = {}) {
    beforeAll(async () => {
      this.started = await (await EtcdServer.start(options)).ready();
    });
    afterEach(async () => {
      // Applications first, while the server and the proxies that they talk to are there.
      await Promise.all(this.apps.splice(0).map((app) => app.close()));
      await Promise.all(this.proxies.splice(0).map((proxy) => proxy.close()));
    });
    afterAll(async () => {
      await this.started?.close();
    });
  }

  get server(): EtcdServer {
    if (!this.started) throw new Error('the server is there only while tests run');
    return this.started;
  }

  async app({ port = this.server.port, etcd, ...settings }: AppSettings = {}): Promise<LockApp> {
    const store = etcdStore({ hosts: `127.0.0.1:${port}`, ...etcd });
    const app = await LockApp.start({ store, shutdownTimeout: 50, ...settings });
    this.apps.push(app);
    return app;
  }

  async proxy(): Promise<TcpProxy> {
    const proxy = await TcpProxy.before(this.server.port);
    this.proxies.push(proxy);
    return proxy;
  }

  key(): string {
    return `key-${randomUUID()}`;
  }

  async client(): Promise<Endpoint> {
    const client = this.server.client();
    await client.open(10_000);
    return client;
  }

  /** Whatever holds a lock or waits for one. */
  async entries(): Promise<readonly KeyValue[]> {
    const client = await this.client();
    const range = { do: 'range', key: `${PREFIX}l/`, end: `${PREFIX}l0`, serializable: false } as const;
    try {
      return (await client.call(methods.range, range)).reply.entries;
    } finally {
      client.cut(new Error('asked'));
    }
  }

  async deleteAll(): Promise<void> {
    const client = await this.client();
    const all = { do: 'delete', key: `${PREFIX}l/`, end: `${PREFIX}l0` } as const;
    await client.call(methods.transaction, { do: 'txn', if: [], then: [all], else: [] });
    client.cut(new Error('done'));
  }

  async nothingLeft(): Promise<void> {
    await until('nothing is left in etcd', async () => (await this.entries()).length === 0);
  }
}
