import { afterAll, beforeAll } from '@jest/globals';
import { prepareExamples, startExample } from '../../.scripts/applications/examples.mjs';
import type { Instance } from '../../.scripts/applications/application.mjs';
import { Leftovers } from '../../.scripts/applications/leftovers.mjs';
import type { LockService } from '../../lib/index.js';
import { LockApp } from './lock-app.js';
import { PostgresServer, type TestPgClient } from './postgres-server.js';
import { RedisServer } from './redis-server.js';

/** How long installing and building all examples may take, ms. */
const SET_UP_MS = 600_000;

/** The reply of an example to an HTTP request. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface ExampleSettings {
  /** Whether it needs a PostgreSQL. */
  readonly postgres?: boolean;
  /** The number of processes to start. Default 1. */
  readonly processes?: number;
  readonly env?: () => Promise<Record<string, string>> | Record<string, string>;
}

interface Started {
  readonly redis: RedisServer;
  readonly otherProcess: LockApp;
  readonly postgres: PostgresServer | undefined;
}

/** A folder of `examples/` as a test file runs it: real processes, with a Redis, and a PostgreSQL if needed, of their own. */
export class Example {
  /** The processes that were started for the whole file. */
  readonly apps: Instance[] = [];
  private readonly leftovers = new Leftovers();
  private started: Started | undefined;

  /** Installs and builds the examples if anything has changed, and starts servers and processes; they end after the tests. */
  constructor(
    private readonly name: string,
    { postgres = false, processes = 1, env = () => ({}) }: ExampleSettings = {},
  ) {
    beforeAll(async () => {
      await prepareExamples({ leftovers: this.leftovers, log: () => undefined });
      const redis = await RedisServer.start();
      const otherProcess = await LockApp.start({ redis: redis.url });
      this.started = { redis, otherProcess, postgres: postgres ? await PostgresServer.start() : undefined };
      const variables = await env();
      this.apps.push(...(await Promise.all(Array.from({ length: processes }, () => this.start(variables)))));
    }, SET_UP_MS);
    afterAll(async () => {
      await this.leftovers.remove();
      await this.started?.otherProcess.close();
      await this.started?.redis.close();
      await this.started?.postgres?.close();
    });
  }

  get app(): Instance {
    const [first] = this.apps;
    if (!first) throw new Error('the processes run only while tests run');
    return first;
  }

  get redis(): RedisServer {
    return this.now.redis;
  }

  /** The locks of another process of the application: a test holds a lock with them to make it busy. */
  get locks(): LockService {
    return this.now.otherProcess.locks;
  }

  /** A client of its database. */
  database(): Promise<TestPgClient> {
    if (!this.now.postgres) throw new Error('the example needs `postgres: true`');
    return this.now.postgres.client();
  }

  /** Starts one more process, and waits until it listens. */
  start(env: Record<string, string> = {}): Promise<Instance> {
    const { redis, postgres } = this.now;
    const variables = { REDIS_URL: redis.url, ...(postgres && { DATABASE_URL: postgres.url }), ...env };
    return startExample({ name: this.name, env: variables, leftovers: this.leftovers });
  }

  private get now(): Started {
    if (!this.started) throw new Error('the servers run only while tests run');
    return this.started;
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
