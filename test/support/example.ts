import { prepareExamples, startExample } from '../../.scripts/demo/examples.mjs';
import type { Instance } from '../../.scripts/demo/application.mjs';
import { Leftovers } from '../../.scripts/demo/leftovers.mjs';
import type { LockService } from '../../lib/index.js';
import { LockApp } from './lock-app.js';
import { PostgresServer, type TestPgClient } from './postgres-server.js';
import { RedisServer } from './redis-server.js';

/** How long installing and building all examples may take, ms. */
export const EXAMPLES_SET_UP_MS = 600_000;

/** The reply of an example to an HTTP request. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A folder of `examples/` as a test runs it: real processes, with a Redis, and a PostgreSQL if asked for, of their own. */
export class Example {
  private constructor(
    private readonly name: string,
    private readonly leftovers: Leftovers,
    readonly redis: RedisServer,
    private readonly otherProcess: LockApp,
    private readonly postgres: PostgresServer | undefined,
  ) {}

  /** Installs and builds the examples if anything has changed, and starts the servers. */
  static async prepare(name: string, { postgres = false } = {}): Promise<Example> {
    const leftovers = new Leftovers();
    await prepareExamples({ leftovers, log: () => undefined });
    const redis = await RedisServer.start();
    const database = postgres ? await PostgresServer.start() : undefined;
    return new Example(name, leftovers, redis, await LockApp.start({ redis: redis.url }), database);
  }

  /** The locks of another process of the application: a test holds a lock with them to make it busy. */
  get locks(): LockService {
    return this.otherProcess.locks;
  }

  /** A client of its database. */
  database(): Promise<TestPgClient> {
    if (!this.postgres) throw new Error('prepare the example with `postgres: true`');
    return this.postgres.client();
  }

  /** Starts a process, and waits until it listens. It ends with {@link end}. */
  start(env: Record<string, string> = {}): Promise<Instance> {
    const database = this.postgres && { DATABASE_URL: this.postgres.url };
    const variables = { REDIS_URL: this.redis.url, ...database, ...env };
    return startExample({ name: this.name, env: variables, leftovers: this.leftovers });
  }

  async end(): Promise<void> {
    await this.leftovers.remove();
    await this.otherProcess.close();
    await this.redis.close();
    await this.postgres?.close();
  }
}

/** Sends a request with a JSON body, if any, and reads the JSON reply. */
export async function send(
  { url }: Instance,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

/** The number of scripts that a Redis has run: one for each request of a lock. */
export async function scriptsOf(redis: RedisServer): Promise<number> {
  const client = redis.client();
  const statistics = await client.info('commandstats');
  client.disconnect();
  return [...statistics.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}
