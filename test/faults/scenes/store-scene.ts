import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { LockStore, LockStoreClient, LockStoreSession } from '../../../lib/stores/port/index.js';
import { Endings } from '../../support/endings.js';
import { LockApp } from '../../support/lock-app.js';
import { TcpProxy, type ProxiedConnection } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';
import { WorkerProcess } from '../../support/worker-process.js';

/** Matches the bytes of a request, one character each. */
export type Fits = (request: string) => boolean;

/** The faults of a server. */
export interface ServerUnderTest {
  readonly port: number;
  /** Connections stay open, and nothing is answered. */
  stop(): unknown;
  resume(): unknown;
  /** Kills the server and starts it on the same port with its data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface SceneSettings<Options> {
  /** The port of a proxy, instead of that of the server. */
  readonly port?: number;
  /** Options of the store, besides its address. */
  readonly options?: Partial<Options>;
  /** Instead of a store made of `port` and `options`. */
  readonly store?: LockStore;
  readonly watchdogTimeout?: number;
  readonly shutdownTimeout?: number;
  readonly onUnavailable?: 'throw' | 'local';
}

/**
 * A server for one test file, with applications connected directly or through a proxy. Applications are closed after
 * each test. Abstract members and defaults are what the fault rules need to know about a store.
 */
export abstract class StoreScene<Server extends ServerUnderTest = ServerUnderTest, Options = object> {
  /** The name of the store in log lines. */
  abstract readonly title: string;
  readonly endings = new Endings();
  /** Options of a store whose server soon ends the session of a silent process. */
  readonly brief: Partial<Options> = {};
  /** Whether holds are lost when the server ends the session of their process. */
  readonly keepsLocksInSessions: boolean = true;
  /** Whether callers continue when their release has been carried out, instead of when it was sent. */
  readonly awaitsReleases: boolean = false;
  /** Whether the store has exclusive locks only, without an order over processes. */
  readonly isExclusive: boolean = false;
  /** Whether tokens grow also after the server has lost all data. */
  readonly tokensOutliveData: boolean = true;
  /** Whether a request is sent in the tick of its call. */
  readonly sendsAtOnce: boolean = false;
  /** Whether nothing of its connections is left when an application has closed. */
  readonly closesAtOnce: boolean = true;
  /** Whether this connection receives pushed messages. */
  readonly brings: (connection: ProxiedConnection) => boolean = () => true;
  /** Matches a request that must be answered before a connection can be used. */
  readonly opens: Fits = () => true;

  /** How long the locks of a killed process last at most, ms. */
  crashLasts(watchdogTimeout: number): number {
    return watchdogTimeout;
  }

  private started: Server | undefined;

  constructor(start: () => Promise<Server>) {
    beforeAll(async () => {
      this.started = await start();
    }, 120_000);
    afterEach(() => this.clear());
    afterAll(async () => {
      await this.started?.close();
    });
  }

  abstract storeAt(port: number, options?: Partial<Options>): LockStore;
  /** Module options for another process; `isSecure`: over TLS. */
  abstract workerOptions(port: number, isSecure?: boolean): object;
  /** Matches the request that adds an owner to the queue of the key. */
  abstract queues(key: string): Fits;
  /** Matches requests that acquire the lock, but none that cancel it. */
  abstract asks(key: string): Fits;
  /** Ends the server-side sessions of all clients behind the proxy. */
  abstract endSessions(proxy: TcpProxy): Promise<void>;
  /** Deletes all holders and waiters. */
  abstract deleteLocks(): Promise<void>;
  /** Restarts the server without data. */
  abstract loseData(): Promise<void>;
  /** All holders and waiters on the server. */
  abstract leftovers(): Promise<readonly unknown[]>;
  /** From now on the session receives no events; `missed` is called instead. */
  protected abstract silence(session: LockStoreSession, missed: () => void, client: LockStoreClient): void;

  get server(): Server {
    if (!this.started) throw new Error('the server runs only while tests run');
    return this.started;
  }

  async app(settings: SceneSettings<Options> = {}): Promise<LockApp> {
    const { port = this.server.port, options, store = this.storeAt(port, options), ...others } = settings;
    return this.endings.app(await LockApp.start({ store, shutdownTimeout: 50, ...others }));
  }

  async proxy(): Promise<TcpProxy> {
    return this.endings.until(await TcpProxy.before(this.server.port));
  }

  /** Another process, which is killed after the test. */
  async worker(options: object): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start(options);
    this.endings.until({ close: () => worker.kill() });
    return worker;
  }

  /** A store whose sessions receive no events, and the number of missed ones. */
  deaf(opened?: (session: LockStoreSession) => unknown): {
    readonly store: LockStore;
    readonly missed: () => number;
  } {
    const real = this.storeAt(this.server.port);
    let missed = 0;
    const open: LockStore['open'] = (client) => {
      const session = real.open(client);
      const count = (): void => {
        missed += 1;
      };
      this.silence(session, count, client);
      opened?.(session);
      return session;
    };
    return { store: { name: real.name, open }, missed: () => missed };
  }

  key(): string {
    return `key-${randomUUID()}`;
  }

  async nothingLeft(): Promise<void> {
    await until(`nothing is left in ${this.title}`, async () => (await this.leftovers()).length === 0);
  }

  /** Removes leftovers of a test before the next one. */
  protected clear(): Promise<void> {
    return Promise.resolve();
  }
}
