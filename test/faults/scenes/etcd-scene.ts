import type { LockStore, LockStoreSession } from '../../../lib/stores/port/index.js';
import type { Endpoint } from '../../../lib/stores/etcd/connection/endpoint.js';
import { etcdStore, type EtcdStoreOptions } from '../../../lib/stores/etcd/index.js';
import { methods, type KeyValue } from '../../../lib/stores/etcd/connection/protocol.js';
import { EtcdServer } from '../../support/etcd-server.js';
import { StoreScene, type Fits } from './store-scene.js';

const PREFIX = 'distributed-lock/';

/** The part of an etcd session that receives events. */
interface HearingSession {
  readonly driver: {
    readonly watches: { receive(endpoint: unknown, reply: { readonly events: readonly unknown[] }): void };
  };
}

export class EtcdScene extends StoreScene<EtcdServer, EtcdStoreOptions> {
  readonly title = 'etcd';
  override readonly awaitsReleases = true;

  constructor() {
    super(async () => (await EtcdServer.start()).ready());
  }

  /** etcd rounds leases up to whole seconds, and grants none shorter than two. */
  override crashLasts(watchdogTimeout: number): number {
    return Math.max(3_000, Math.ceil((1.5 * watchdogTimeout) / 1_000) * 1_000);
  }

  storeAt(port: number, options: Partial<EtcdStoreOptions> = {}): LockStore {
    return etcdStore({ hosts: `127.0.0.1:${String(port)}`, ...options });
  }

  workerOptions(port: number, isSecure = false): object {
    return { etcd: { hosts: `127.0.0.1:${String(port)}`, ...(isSecure && { tls: {} }) } };
  }

  queues(key: string): Fits {
    return (request) => request.includes(key) && request.includes('{"s":"w"');
  }

  asks(key: string): Fits {
    const put = new RegExp(`/l/${key}/x/[\\w@./:-]+\\x12[^]{1,2}\\{"s"`);
    return (request) => put.test(request);
  }

  async client(): Promise<Endpoint> {
    const client = this.server.client();
    await client.open(10_000);
    return client;
  }

  async leftovers(): Promise<readonly KeyValue[]> {
    const client = await this.client();
    const range = { do: 'range', key: `${PREFIX}l/`, end: `${PREFIX}l0`, serializable: false } as const;
    try {
      return (await client.call(methods.range, range)).reply.entries;
    } finally {
      client.cut(new Error('asked'));
    }
  }

  async deleteLocks(): Promise<void> {
    const client = await this.client();
    const all = { do: 'delete', key: `${PREFIX}l/`, end: `${PREFIX}l0` } as const;
    await client.call(methods.transaction, { do: 'txn', if: [], then: [all], else: [] });
    client.cut(new Error('done'));
  }

  loseData(): Promise<void> {
    return this.server.restartEmpty();
  }

  /** In etcd, a session consists of its leases. */
  async endSessions(): Promise<void> {
    const client = await this.client();
    for (const { lease } of await this.leftovers())
      await client.call(methods.leaseRevoke, lease).catch(() => undefined);
    client.cut(new Error('done'));
  }

  protected silence(session: LockStoreSession, missed: () => void): void {
    const { watches } = (session as unknown as HearingSession).driver;
    const receive = watches.receive.bind(watches);
    watches.receive = (endpoint, reply) => {
      if (reply.events.length > 0) missed();
      else receive(endpoint, reply);
    };
  }
}
