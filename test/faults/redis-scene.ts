import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { DistributedLockOptions } from '../../lib/index.js';
import { LockApp } from '../support/lock-app.js';
import { RedisServer, type RedisServerOptions } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

interface AppSettings {
  readonly redis?: string;
  readonly watchdogTimeout?: number;
  readonly waitTime?: number;
  readonly shutdownTimeout?: number;
  readonly onUnavailable?: 'throw' | 'local';
  readonly keyPrefix?: string;
  readonly replicas?: { readonly min: number };
}

/** A Redis of the test's own with applications on it, directly or behind a proxy; ended after each test. */
export class RedisScene {
  private started: { readonly server: RedisServer; readonly client: Redis } | undefined;
  private readonly apps: LockApp[] = [];
  private readonly endings: (() => Promise<unknown>)[] = [];

  constructor(options: RedisServerOptions = {}) {
    beforeAll(async () => {
      const server = await RedisServer.start(options);
      this.started = { server, client: server.client() };
    });
    afterEach(async () => {
      // Applications first, while the server and the proxies that they talk to are there.
      await Promise.all(this.apps.splice(0).map((app) => app.close()));
      for (const end of this.endings.splice(0).reverse()) await end();
      await this.client.flushall();
    });
    afterAll(async () => {
      await this.started?.server.close();
    });
  }

  get server(): RedisServer {
    return this.now.server;
  }

  /** For looking at the server; it does not go through any proxy. */
  get client(): Redis {
    return this.now.client;
  }

  async app(settings: AppSettings = {}): Promise<LockApp> {
    const options: DistributedLockOptions = { redis: this.server.url, shutdownTimeout: 50, ...settings };
    const app = await LockApp.start(options);
    this.apps.push(app);
    return app;
  }

  async proxy(): Promise<TcpProxy> {
    const proxy = await TcpProxy.before(this.server.port);
    this.endings.push(() => proxy.close());
    return proxy;
  }

  /** Something that has to be ended with the test. */
  until<T extends { kill(): Promise<unknown> }>(thing: T): T {
    this.endings.push(() => thing.kill());
    return thing;
  }

  key(): string {
    return `key-${randomUUID()}`;
  }

  /** Locks and queues that are in the server; tombstones and the fencing counter are plain strings. */
  async leftovers(): Promise<string[]> {
    const keys = await this.client.keys('*');
    const types = await Promise.all(keys.map((key) => this.client.type(key)));
    return keys.filter((_, index) => types[index] !== 'string' && types[index] !== 'none');
  }

  async nothingLeft(deadline = 5_000): Promise<void> {
    await until('nothing is left in Redis', async () => (await this.leftovers()).length === 0, { deadline });
  }

  /** How often the server has run each command since the last reset, functions called by scripts included. */
  async commandCounts(): Promise<Record<string, number>> {
    const stats = await this.client.info('commandstats');
    const lines = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
    return Object.fromEntries(lines.map(([, name = '', calls = '0']) => [name, Number(calls)]));
  }

  private get now(): { readonly server: RedisServer; readonly client: Redis } {
    if (!this.started) throw new Error('the server is there only while tests run');
    return this.started;
  }
}
