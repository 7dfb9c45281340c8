import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type BreakReply,
  type Grant,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockStoreClient,
  type LockStoreSession,
  type NamedHold,
  type OwnerRequest,
  type ReleaseReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoreConnection,
  type StoredLock,
} from '../port/lock-store.js';
import type { RenewReplies } from '../port/forwarding-session.js';
import { asked, storeFailure } from '../port/store-failure.js';
import { requestTimeoutFor } from '../port/times.js';
import { PendingReleases } from '../port/turns.js';
import type { Endpoint } from './connection/endpoint.js';
import { EtcdConnection } from './connection/etcd-connection.js';
import { EtcdError, isOutOfSpace, status } from './connection/etcd-failure.js';
import {
  OUT_OF_SPACE,
  checkRights,
  historyWarnings,
  isFull,
  memberWarnings,
} from './connection/start-check.js';
import type { ResolvedEtcdOptions } from './etcd-options.js';
import { Acquirer } from './locks/acquirer.js';
import { LockContext } from './locks/context.js';
import { endOf } from './locks/entries.js';
import { Grants } from './locks/grants.js';
import { LockReader } from './locks/lock-reader.js';
import { OwnEntries } from './locks/own-entries.js';
import { Releaser } from './locks/releaser.js';
import { PendingAcquires } from './locks/turns.js';
import { WaitedLocks } from './locks/waited-locks.js';
import { methods, type StatusReply } from './protocol.js';

/** How long a request may take, ms. A leader that dies loses its pending requests, and nobody reports that. */
const REQUEST_TIMEOUT = 1_000;

export class EtcdSession implements LockStoreSession {
  readonly board: LockBoard;
  readonly remainingIsBound = true;
  private readonly connection: EtcdConnection;
  private readonly context: LockContext;
  private readonly reader: LockReader;
  private readonly ownEntries: OwnEntries;
  private readonly waited: WaitedLocks;
  private readonly grants: Grants;
  private readonly acquirer: Acquirer;
  private readonly releaser: Releaser;
  private readonly releases = new PendingReleases();
  private version: string | undefined;

  constructor(
    { connection: options, keyPrefix }: ResolvedEtcdOptions,
    private readonly client: LockStoreClient,
  ) {
    const requestTimeout = requestTimeoutFor(client.watchdogTimeout, REQUEST_TIMEOUT);
    this.connection = new EtcdConnection(options, requestTimeout, {
      prepare: (endpoint, member) => this.prepare(endpoint, member),
      back: () => {
        client.reconnected();
      },
      lost: () => {
        this.context.leases.disconnected();
        this.context.watches.disconnected();
      },
    });
    const context = new LockContext(client, this.connection, keyPrefix, requestTimeout);
    this.context = context;
    this.board = new EtcdBoard(context);
    const reader = new LockReader(context);
    this.reader = reader;
    const ownEntries = new OwnEntries(context, reader);
    this.ownEntries = ownEntries;
    this.waited = new WaitedLocks(context, reader, ownEntries);
    this.grants = new Grants(context, reader, ownEntries);
    const acquires = new PendingAcquires();
    this.acquirer = new Acquirer(context, reader, ownEntries, this.waited, this.grants, acquires);
    this.releaser = new Releaser(context, reader, ownEntries, this.waited, acquires);
  }

  get description(): string | undefined {
    return this.version === undefined ? undefined : `etcd ${this.version}`;
  }

  async start(): Promise<void> {
    await this.connection.open();
  }

  acquire(request: AcquireRequest): PromiseLike<AcquireReply> {
    if (request.wait) this.releaser.listen();
    return asked(() => this.acquirer.acquire(request));
  }

  acquireAll(requests: readonly AcquireRequest[]): Promise<readonly Grant[] | number | null> {
    return asked(() => this.grants.acquireAll(requests));
  }

  cancel(request: OwnerRequest): Promise<void> {
    const work = asked(() => this.releaser.cancel(request));
    return this.releases.track(request.key, work);
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    const work = asked(() => this.releaser.release(request));
    return this.releases.track(request.key, work);
  }

  /** Waits for replies: a request that was only sent may be carried out after a later one of another client. */
  whenSent(key: string): Promise<unknown> | undefined {
    return this.releases.of(key);
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await Promise.all(
      requests.map((request) =>
        this.ownEntries.renew(request).catch((error: unknown) => storeFailure(error)),
      ),
    );
  }

  reserve(request: ReserveRequest): PromiseLike<ReserveReply> {
    return asked(() => this.ownEntries.reserve(request));
  }

  inspect(key: string): Promise<StoredLock | null> {
    return asked(() => this.reader.inspect(key));
  }

  listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return asked(() => this.reader.listKeys(request));
  }

  connections(): readonly StoreConnection[] {
    return [this.connection.status];
  }

  forceRelease(key: string): Promise<boolean> {
    return asked(() => this.releaser.forceRelease(key));
  }

  breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    return asked(() => this.releaser.breakHold(key, hold));
  }

  verify(): Promise<void> {
    return asked(async () => {
      const { base } = this.context;
      const { errors } = await this.connection.call(methods.status, undefined);
      if (isFull(errors)) throw new LockStoreError(OUT_OF_SPACE, { inDoubt: false, retryable: true });
      const { reply } = await this.connection.call(methods.range, base.range);
      if (base.learn(reply.entries)) return;
      // An unhealthy process gets no requests that would create it.
      base.create().catch(() => undefined);
      const message =
        `etcd has no key ${JSON.stringify(base.range.key)}, from which tokens are counted: somebody has deleted keys of ` +
        'locks. It is being created again';
      throw new LockStoreError(message, { inDoubt: false, retryable: true });
    });
  }

  async close(): Promise<void> {
    this.waited.close();
    if (this.connection.trouble === undefined) await this.ownEntries.leaveToExpire().catch(() => undefined);
    this.context.timers.close();
    this.ownEntries.close();
    this.connection.close();
  }

  /** Prepares a connection for locks; the first time also warns the operator of problems. */
  private async prepare(endpoint: Endpoint, member: StatusReply): Promise<void> {
    const { client } = this;
    const { names, leases, watches } = this.context;
    const isFirst = this.version === undefined;
    let revision: number;
    try {
      revision = await this.readBase(endpoint);
      if (isFirst) await checkRights(endpoint, names.prefix);
    } catch (error) {
      if (error instanceof EtcdError && error.code === status.permissionDenied) {
        client.warn(
          'The user of etcd may not read and write all keys of locks. Give its role the right: etcdctl role grant-permission ' +
            `ROLE readwrite ${JSON.stringify(names.prefix)} --prefix=true.`,
        );
      }
      throw error;
    }
    if (isFirst) {
      const history = await historyWarnings(endpoint, names.base, revision);
      for (const warning of [...memberWarnings(member), ...history]) client.warn(warning);
    }
    this.version = member.version;
    leases.connected(endpoint);
    watches.connected(endpoint);
  }

  /** Reads the base of tokens, and writes it if necessary. Returns the current revision. */
  private async readBase(endpoint: Endpoint): Promise<number> {
    const { base } = this.context;
    const { revision, reply } = await endpoint.call(methods.range, base.range);
    if (base.isBehind(revision)) {
      // etcd has lost data, or was restored from a snapshot.
      this.context.forget();
      this.waited.forget();
    }
    try {
      const exists = base.learn(reply.entries);
      if (!exists || base.isTooSmall) await base.create(endpoint, reply.entries[0]);
    } catch (error) {
      // Without space etcd grants no lock, but the holds that exist can be renewed.
      if (!isOutOfSpace(error)) throw error;
    }
    return revision;
  }
}

/** Keeps each text on an etcd lease that nobody keeps alive; these are counted in seconds. */
class EtcdBoard implements LockBoard {
  private readonly watched: string;
  private readonly texts: string;

  constructor(private readonly context: LockContext) {
    const { board } = context.names;
    this.watched = `${board}watched`;
    this.texts = `${board}of/`;
  }

  watch(ttl: number): Promise<void> {
    return this.put(this.watched, '', ttl);
  }

  isWatched(): Promise<boolean> {
    return asked(async () => (await this.valuesOf(this.watched)).length > 0);
  }

  publish(name: string, text: string, ttl: number): Promise<void> {
    return this.put(this.texts + name, text, ttl);
  }

  read(): Promise<readonly string[]> {
    return asked(() => this.valuesOf(this.texts, endOf(this.texts)));
  }

  private put(key: string, value: string, ttl: number): Promise<void> {
    return asked(async () => {
      const { connection, leases } = this.context;
      const lease = await leases.grantPassing(Math.ceil(ttl / 1_000));
      const put = { do: 'put', key, value, lease } as const;
      await connection.call(methods.transaction, { do: 'txn', then: [put] });
    });
  }

  private async valuesOf(key: string, end?: string): Promise<readonly string[]> {
    const { reply } = await this.context.connection.call(methods.range, { do: 'range', key, end });
    return reply.entries.map(({ value }) => value);
  }
}
