import type { LockStore, LockStoreSession } from '../../../lib/stores/port/index.js';
import { endSession } from '../../../lib/stores/zookeeper/connection/protocol.js';
import {
  ZooKeeperSocket,
  type SessionIdentity,
} from '../../../lib/stores/zookeeper/connection/zookeeper-socket.js';
import { zookeeperStore, type ZooKeeperStoreOptions } from '../../../lib/stores/zookeeper/index.js';
import { NodesOfLocks } from '../../support/nodes-of-locks.js';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { ZooKeeperServer } from '../../support/zookeeper-server.js';
import { StoreScene, type Fits } from './store-scene.js';

/** The part of a session that identifies it to the servers. */
interface KnownSession {
  readonly driver: { readonly connection: { readonly session: SessionIdentity | undefined } };
}

export class ZooKeeperScene extends StoreScene<ZooKeeperServer, ZooKeeperStoreOptions> {
  readonly title = 'ZooKeeper';
  override readonly brief = { sessionTimeout: 6_000 };
  override readonly opens: Fits = (request) => request.includes('/clients/f-');
  private opened: KnownSession[] = [];

  constructor() {
    super(() => ZooKeeperServer.start());
  }

  /** The session of the application that was started last. */
  get session(): SessionIdentity {
    const session = this.opened.at(-1)?.driver.connection.session;
    if (session === undefined) throw new Error('no session was opened');
    return session;
  }

  /** The time until the servers end the session. */
  override crashLasts(watchdogTimeout: number): number {
    return Math.ceil((1.5 * watchdogTimeout) / 1_000) * 1_000;
  }

  storeAt(port: number, options: Partial<ZooKeeperStoreOptions> = {}): LockStore {
    const store = zookeeperStore({ hosts: `127.0.0.1:${String(port)}`, ...options });
    const open: LockStore['open'] = (client) => {
      const session = store.open(client);
      this.opened.push(session as unknown as KnownSession);
      return session;
    };
    return { name: store.name, open };
  }

  workerOptions(port: number, isSecure = false): object {
    return { zookeeper: { hosts: `127.0.0.1:${String(port)}`, tls: isSecure } };
  }

  queues(key: string): Fits {
    return this.asks(key);
  }

  /** The server appends a number to the name; requests that delete an entry include that number. */
  asks(key: string): Fits {
    const create = new RegExp(`/locks/${key}/x-[^\\0]*-\\0`);
    return (request) => create.test(request);
  }

  async leftovers(): Promise<readonly string[]> {
    return await this.look((nodes) => nodes.entries());
  }

  async deleteLocks(): Promise<void> {
    await this.look((nodes) => nodes.clear());
  }

  loseData(): Promise<void> {
    return this.server.restart(true);
  }

  /** Another client resumes the sessions and ends them. */
  async endSessions(proxy: TcpProxy): Promise<void> {
    // Otherwise their owners would resume them on other connections first.
    await proxy.refuse();
    proxy.cut();
    for (const { driver } of this.opened) {
      const { connection } = driver;
      if (connection.session === undefined) continue;
      const thief = new ZooKeeperSocket(
        { host: '127.0.0.1', port: this.server.port },
        { tls: undefined, auth: undefined, requestTimeout: 5_000 },
        { event: () => undefined, replied: () => undefined, closed: () => undefined },
      );
      await thief.open(connection.session, 60_000, 0);
      await thief.request(endSession);
      thief.cut(new Error('done'));
    }
    await proxy.accept();
  }

  protected silence(session: LockStoreSession, missed: () => void): void {
    Object.assign((session as unknown as { driver: object }).driver, { onEvent: missed });
  }

  protected override clear(): Promise<void> {
    this.opened = [];
    return Promise.resolve();
  }

  private async look<T>(at: (nodes: NodesOfLocks) => Promise<T>): Promise<T> {
    const nodes = await NodesOfLocks.open(this.server.port);
    try {
      return await at(nodes);
    } finally {
      await nodes.close();
    }
  }
}
