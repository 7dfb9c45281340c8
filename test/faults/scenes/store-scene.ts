import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { LockStore, LockStoreSession } from '../../../lib/index.js';
import { Endings } from '../../support/endings.js';
import { LockApp } from '../../support/lock-app.js';
import { TcpProxy, type ProxiedConnection } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

/** Whether a request is the one that is meant; as bytes, one character each. */
export type Fits = (request: string) => boolean;

/** What a fault does to a server. */
export interface ServerUnderTest {
  readonly port: number;
  /** Connections stay open, nothing is answered. */
  stop(): unknown;
  resume(): unknown;
  /** Killed, and started again on the same port with its data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface SceneSettings<Options> {
  /** Another way to the server than the straight one. */
  readonly port?: number;
  /** Of the store, beside its address. */
  readonly options?: Partial<Options>;
  /** Instead of one made of the two. */
  readonly store?: LockStore;
  readonly watchdogTimeout?: number;
  readonly shutdownTimeout?: number;
  readonly onUnavailable?: 'throw' | 'local';
}

/**
 * A server of the test's own with applications on it, directly or behind a proxy; ended after each test. What the rules
 * for faults need to know of a store beside that is what is abstract here, or has another value in a store of its own.
 */
export abstract class StoreScene<Server extends ServerUnderTest = ServerUnderTest, Options = object> {
  /** As the log names it. */
  abstract readonly title: string;
  readonly endings = new Endings();
  /** Of a store whose server soon gives up a process that it does not hear of. */
  readonly brief: Partial<Options> = {};
  /** Whether what a process holds goes with its session with the server, so that it is lost when the server ends that. */
  readonly keepsLocksInSessions: boolean = true;
  /** Whether callers go on when their release has been carried out, and not when it was sent. */
  readonly awaitsReleases: boolean = false;
  /** Whether such a connection brings what is pushed. */
  readonly brings: (connection: ProxiedConnection) => boolean = () => true;
  /** A request that has to be answered before a connection can be used. */
  readonly opens: Fits = () => true;

  /** How long locks of a process that was killed last at most, ms. */
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
  /** Module options for another process; `isSecure`: by TLS. */
  abstract workerOptions(port: number, isSecure?: boolean): object;
  /** The request by which the owner of a key gets a place in its line. */
  abstract queues(key: string): Fits;
  /** A request that asks for the lock, and none that takes that back. */
  abstract asks(key: string): Fits;
  /** Ends the sessions of all that go through the proxy. */
  abstract endSessions(proxy: TcpProxy): Promise<void>;
  /** Deletes who holds a lock and who waits. */
  abstract deleteLocks(): Promise<void>;
  /** The server comes back with nothing. */
  abstract loseData(): Promise<void>;
  /** Whatever holds a lock or waits for one. */
  abstract leftovers(): Promise<readonly unknown[]>;
  /** From now on the session hears of nothing that happens; `missed` is called instead. */
  protected abstract silence(session: LockStoreSession, missed: () => void): void;

  get server(): Server {
    if (!this.started) throw new Error('the server is there only while tests run');
    return this.started;
  }

  async app(settings: SceneSettings<Options> = {}): Promise<LockApp> {
    const { port = this.server.port, options, store = this.storeAt(port, options), ...others } = settings;
    return this.endings.app(await LockApp.start({ store, shutdownTimeout: 50, ...others }));
  }

  async proxy(): Promise<TcpProxy> {
    return this.endings.until(await TcpProxy.before(this.server.port));
  }

  /** A store that is told of nothing, and how often it should have been. */
  deaf(opened?: (session: LockStoreSession) => unknown): {
    readonly store: LockStore;
    readonly missed: () => number;
  } {
    const real = this.storeAt(this.server.port);
    let missed = 0;
    const open: LockStore['open'] = (client) => {
      const session = real.open(client);
      this.silence(session, () => {
        missed += 1;
      });
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

  /** So that what one test has left does not show in the next. */
  protected clear(): Promise<void> {
    return Promise.resolve();
  }
}
