import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { DistributedLockOptions, RedisConnection } from '../../lib/index.js';
import { Endings } from '../support/endings.js';
import { LockApp } from '../support/lock-app.js';
import { elapse, until } from '../support/until.js';

interface Topology {
  flush(): Promise<void>;
  keys(): Promise<string[]>;
  close(): Promise<void>;
}

interface AppSettings {
  readonly watchdogTimeout?: number;
  readonly waitTime?: number;
  readonly shutdownTimeout?: number;
  /** Instead of the direct connection to the servers. */
  readonly redis?: RedisConnection;
  readonly quorum?: readonly RedisConnection[];
  readonly replicas?: { readonly min: number };
}

/** Several Redis servers for one test file, with applications that are closed after each test. */
export class TopologyScene<T extends Topology> {
  private started: T | undefined;
  private readonly endings = new Endings();

  /** @param options module options of an application on these servers */
  constructor(
    start: () => Promise<T>,
    private readonly options: (servers: T) => DistributedLockOptions,
  ) {
    beforeAll(async () => {
      this.started = await start();
    });
    afterEach(() => this.servers.flush());
    afterAll(async () => {
      await this.started?.close();
    });
  }

  get servers(): T {
    if (!this.started) throw new Error('the servers run only while tests run');
    return this.started;
  }

  async app(settings: AppSettings = {}): Promise<LockApp> {
    const options = { ...this.options(this.servers), shutdownTimeout: 50, ...settings };
    return this.endings.app(await LockApp.start(options));
  }

  /** Registers something to be closed after the test. */
  until<P extends { kill(): Promise<unknown> }>(thing: P): P {
    this.endings.until({ close: () => thing.kill() });
    return thing;
  }

  key(): string {
    return `key-${randomUUID()}`;
  }

  /** Waits until no hold and no queue is left; token counters and tombstones stay. */
  async nothingLeft(deadline = 10_000): Promise<void> {
    const left = async (): Promise<string[]> =>
      (await this.servers.keys()).filter((key) => !/@:(fence|gone)/.test(key));
    await until('nothing is left in Redis', async () => (await left()).length === 0, { deadline });
  }
}

/** Checks `state` repeatedly for this long; fails as soon as it is false. */
export async function throughout(ms: number, what: string, state: () => boolean): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    if (!state()) throw new Error(`no longer ${what}`);
    await elapse(20);
  }
}
