import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { DistributedLockOptions, RedisModuleOptions } from '../../lib/index.js';
import { Endings } from '../support/endings.js';
import { leftoversOf } from '../support/leftovers.js';
import { LockApp } from '../support/lock-app.js';
import { RedisServer, type RedisServerOptions } from '../support/redis-server.js';
import { canSetServerClocks } from '../support/server-clock.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { VirtualTime } from '../support/virtual-time.js';

/** Matches requests for this lock, whatever script they run. */
export const about =
  (key: string) =>
  (request: string): boolean =>
    request.includes(`lock:${key}`);

/** The number of scripts in counts of commands. */
export const scripts = (counts: Record<string, number>): number =>
  (counts['evalsha'] ?? 0) + (counts['eval'] ?? 0);

interface AppSettings {
  readonly redis?: RedisModuleOptions['redis'];
  readonly watchdogTimeout?: number;
  readonly waitTime?: number;
  readonly shutdownTimeout?: number;
  readonly onUnavailable?: 'throw' | 'local';
  readonly keyPrefix?: string;
  readonly replicas?: { readonly min: number };
}

export interface RedisSceneOptions extends RedisServerOptions {
  /** The round-trip delay of the simulated network, ms. Default 0: a direct connection. */
  readonly delay?: number;
  /**
   * Time passes only while application and server are idle, see {@link VirtualTime}. For tests without other processes
   * whose server is never stopped.
   */
  readonly inVirtualTime?: boolean;
}

interface Started {
  readonly server: RedisServer;
  readonly client: Redis;
  /** The proxy that adds the delay. */
  readonly way: TcpProxy | undefined;
  readonly stopTime: (() => void) | undefined;
}

/** A Redis server for one test file, with applications connected directly or through a proxy, closed after each test. */
export class RedisScene {
  /** The round-trip delay, ms. */
  readonly delay: number;
  private started: Started | undefined;
  private readonly endings = new Endings();

  constructor({ delay = 0, inVirtualTime = false, ...options }: RedisSceneOptions = {}) {
    this.delay = delay;
    beforeAll(async () => {
      const clock = inVirtualTime && canSetServerClocks ? { clock: true } : {};
      const server = await RedisServer.start({ ...options, ...clock });
      const way = delay > 0 ? await this.wayTo(server) : undefined;
      const stopTime = inVirtualTime ? await VirtualTime.start([server]) : undefined;
      this.started = { server, client: server.client(), way, stopTime };
    });
    afterEach(() => this.client.flushall());
    afterAll(async () => {
      this.started?.stopTime?.();
      await this.started?.way?.close();
      await this.started?.server.close();
    });
  }

  /** The URL of the server, through the delaying proxy if there is one. */
  get url(): string {
    return this.now.way?.url ?? this.server.url;
  }

  get server(): RedisServer {
    return this.now.server;
  }

  /** A client to inspect the server, without delay or proxy. */
  get client(): Redis {
    return this.now.client;
  }

  async app(settings: AppSettings = {}): Promise<LockApp> {
    const options: DistributedLockOptions = { redis: this.url, shutdownTimeout: 50, ...settings };
    return this.endings.app(await LockApp.start(options));
  }

  /** A proxy in front of the server, with the same delay. */
  async proxy(): Promise<TcpProxy> {
    return this.endings.until(await this.wayTo(this.server));
  }

  /** Registers something to be closed after the test. */
  until<T extends { kill(): Promise<unknown> }>(thing: T): T {
    this.endings.until({ close: () => thing.kill() });
    return thing;
  }

  key(): string {
    return `key-${randomUUID()}`;
  }

  leftovers(): Promise<string[]> {
    return leftoversOf(this.client);
  }

  /** Runs `action` while the server is out of memory. */
  async outOfMemory(action: () => Promise<void>): Promise<void> {
    await this.client.config('SET', 'maxmemory', '1');
    try {
      await action();
    } finally {
      await this.client.config('SET', 'maxmemory', '0');
    }
  }

  async nothingLeft(deadline = 5_000): Promise<void> {
    await until('nothing is left in Redis', async () => (await this.leftovers()).length === 0, { deadline });
  }

  /** How often the server has run each command since the last reset, including calls from scripts. */
  async commandCounts(): Promise<Record<string, number>> {
    const stats = await this.client.info('commandstats');
    const lines = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
    return Object.fromEntries(lines.map(([, name = '', calls = '0']) => [name, Number(calls)]));
  }

  private async wayTo(server: RedisServer): Promise<TcpProxy> {
    const proxy = await TcpProxy.before(server.port);
    if (this.delay > 0) proxy.delay(this.delay);
    return proxy;
  }

  private get now(): Started {
    if (!this.started) throw new Error('the server runs only while tests run');
    return this.started;
  }
}
