import type { Redis } from 'ioredis';
import { RedisServer, type RedisServerOptions } from './redis-server.js';

/** Independent servers, as a quorum needs them. */
export class ServerFleet {
  private constructor(
    readonly servers: readonly RedisServer[],
    /** One client of the test for each server, in the same order. */
    readonly clients: readonly Redis[],
  ) {}

  static async start(count = 5, options: RedisServerOptions = {}): Promise<ServerFleet> {
    const servers = await RedisServer.startAll(count, options);
    return new ServerFleet(
      servers,
      servers.map((server) => server.client()),
    );
  }

  get urls(): readonly string[] {
    return this.servers.map(({ url }) => url);
  }

  /** The clients of live servers. */
  async flush(): Promise<void> {
    await Promise.all(this.answering().map((client) => client.flushall()));
  }

  /** The keys of all live servers, each key once, sorted. */
  async keys(): Promise<string[]> {
    const keys = await Promise.all(this.answering().map((client) => client.keys('*')));
    return [...new Set(keys.flat())].sort();
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
  }

  private answering(): readonly Redis[] {
    return this.clients.filter((_, index) => this.servers[index]?.isAnswering);
  }
}
