import { Glob } from '../../common/glob.js';
import { OrderedSession } from '../ordered/ordered-session.js';
import type { RenewReplies } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockStoreClient,
  type LockStoreSession,
  type OwnerRequest,
  type ReleaseReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoreConnection,
  type StoredHold,
  type StoredWaiter,
} from '../port/lock-store.js';
import { checkCursor, storeFailure } from '../port/store-failure.js';
import { checkFormat } from '../port/stored-format.js';
import { requestTimeoutFor } from '../port/times.js';
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
import type { ResolvedEtcdOptions } from './connection/etcd-options.js';
import { Acquirer } from './locks/acquirer.js';
import { LockContext } from './locks/context.js';
import { endOf, type Entry } from './locks/entries.js';
import { Grants } from './locks/grants.js';
import type { LockState } from './locks/lock-reader.js';
import { Releaser } from './locks/releaser.js';
import { methods, type StatusReply } from './connection/protocol.js';

/** How long a request may take, ms. A leader that dies loses its pending requests, and nothing reports that. */
const REQUEST_TIMEOUT = 1_000;

export class EtcdSession extends OrderedSession<Entry> implements LockStoreSession {
  readonly board: LockBoard;
  private readonly connection: EtcdConnection;
  private readonly context: LockContext;
  private readonly grants: Grants;
  private readonly acquirer: Acquirer;
  private readonly releaser: Releaser;
  private version: string | undefined;

  constructor({ connection: options, keyPrefix }: ResolvedEtcdOptions, client: LockStoreClient) {
    super(client);
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
    const context = new LockContext(client, this.connection, this.timers, keyPrefix, requestTimeout);
    this.context = context;
    this.board = new EtcdBoard(context);
    this.grants = new Grants(context);
    this.acquirer = new Acquirer(context, this.grants);
    this.releaser = new Releaser(context);
  }

  get description(): string | undefined {
    return this.version === undefined ? undefined : `etcd ${this.version}`;
  }

  async start(): Promise<void> {
    await this.connection.open();
  }

  acquire(request: AcquireRequest): PromiseLike<AcquireReply> {
    if (request.wait) this.releaser.listen();
    return this.acquirer.acquire(request);
  }

  cancel(request: OwnerRequest): Promise<void> {
    return this.releases.track(request.key, this.releaser.cancel(request));
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    return this.releases.track(request.key, this.releaser.release(request));
  }

  /** Waits for replies: a request that was only sent may be carried out after a later one of another client. */
  whenSent(key: string): Promise<unknown> | undefined {
    return this.releases.of(key);
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await Promise.all(
      requests.map((request) =>
        this.context.own.renew(request).catch((error: unknown) => storeFailure(error)),
      ),
    );
  }

  reserve(request: ReserveRequest): PromiseLike<ReserveReply> {
    return this.context.own.reserve(request);
  }

  /** In the order of the entries' names in etcd. */
  async listKeys({ match, cursor, count }: ListKeysRequest): Promise<ListedKeys> {
    const { names } = this.context;
    checkCursor(cursor === undefined || names.isEntry(cursor));
    const { reply } = await this.connection.call(methods.range, {
      do: 'range',
      // The cursor is the last name of the previous page.
      key: cursor === undefined ? names.locks.start : `${cursor}\0`,
      end: names.locks.end,
      limit: count,
      keysOnly: true,
    });
    const found = reply.entries.map(({ key }) => key);
    const glob = new Glob(match);
    const keys = [...new Set(found.map((name) => names.keyOf(name)))].filter((key) => glob.matches(key));
    return { keys, cursor: found.length < count ? undefined : found.at(-1) };
  }

  connections(): readonly StoreConnection[] {
    return [this.connection.status];
  }

  async verify(): Promise<void> {
    const { base } = this.context;
    const { errors } = await this.connection.call(methods.status, undefined);
    if (isFull(errors)) throw new LockStoreError(OUT_OF_SPACE, { inDoubt: false, retryable: true });
    const { reply } = await this.connection.call(methods.range, base.range);
    if (base.learn(reply.entries)) return;
    // An unhealthy process receives no requests that would create it.
    base.create().catch(() => undefined);
    const message =
      `etcd has no key ${JSON.stringify(base.range.key)}, from which tokens are counted: keys of locks were ` +
      'deleted. It is being created again';
    throw new LockStoreError(message, { inDoubt: false, retryable: true });
  }

  async close(): Promise<void> {
    const { waited, own } = this.context;
    waited.close();
    if (this.connection.trouble === undefined) await own.leaveToExpire().catch(() => undefined);
    this.timers.close();
    own.close();
    this.connection.close();
  }

  protected queueOf(key: string): Promise<LockState> {
    const { turns, reader, names } = this.context;
    return turns.run(key, () => reader.read(names.lock(key)));
  }

  protected storedHold(entry: Entry): Promise<StoredHold> {
    return Promise.resolve(this.context.reader.storedHold(entry));
  }

  protected storedWaiter({ owner, callers, limit, permits, label }: Entry): Promise<StoredWaiter> {
    return Promise.resolve({ owner, callers, limit, permits, label });
  }

  protected breakEntry(entry: Entry): Promise<boolean> {
    return this.releaser.breakEntry(entry);
  }

  /** Prepares a connection for locks; the first time also warns the operator of problems. */
  private async prepare(endpoint: Endpoint, member: StatusReply): Promise<void> {
    const { client } = this;
    const { names, leases, watches } = this.context;
    const isFirst = this.version === undefined;
    let revision: number;
    try {
      // Before anything is written.
      if (isFirst) await this.checkFormat(endpoint);
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

  private async checkFormat(endpoint: Endpoint): Promise<void> {
    const { reply } = await endpoint.call(methods.range, { do: 'range', key: this.context.names.format });
    checkFormat(reply.entries[0]?.value, `etcd at ${endpoint.address}`, 'keyPrefix');
  }

  /** Reads the base of tokens, and writes it if necessary. Returns the current revision. */
  private async readBase(endpoint: Endpoint): Promise<number> {
    const { base } = this.context;
    const { revision, reply } = await endpoint.call(methods.range, base.range);
    if (base.isBehind(revision)) {
      // etcd has lost data, or was restored from a snapshot.
      this.context.forget();
      this.context.waited.forget();
    }
    try {
      const exists = base.learn(reply.entries);
      if (!exists || base.isTooSmall) await base.create(endpoint, reply.entries[0]);
    } catch (error) {
      // Without space etcd grants no lock, but existing holds can be renewed.
      if (!isOutOfSpace(error)) throw error;
    }
    return revision;
  }
}

/** Keeps each text on an etcd lease that is not kept alive; leases are counted in seconds. */
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

  async isWatched(): Promise<boolean> {
    return (await this.valuesOf(this.watched)).length > 0;
  }

  publish(name: string, text: string, ttl: number): Promise<void> {
    return this.put(this.texts + name, text, ttl);
  }

  read(): Promise<readonly string[]> {
    return this.valuesOf(this.texts, endOf(this.texts));
  }

  private async put(key: string, value: string, ttl: number): Promise<void> {
    const { connection, leases } = this.context;
    const lease = await leases.grantPassing(Math.ceil(ttl / 1_000));
    const put = { do: 'put', key, value, lease } as const;
    await connection.call(methods.transaction, { do: 'txn', then: [put] });
  }

  private async valuesOf(key: string, end?: string): Promise<readonly string[]> {
    const { reply } = await this.context.connection.call(methods.range, { do: 'range', key, end });
    return reply.entries.map(({ value }) => value);
  }
}
