import type {
  AcquireReply,
  AcquireRequest,
  BreakReply,
  Grant,
  ListedKeys,
  ListKeysRequest,
  LockBoard,
  LockStore,
  LockStoreClient,
  LockStoreSession,
  NamedHold,
  OwnerRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoreConnection,
  StoredLock,
} from '../port/lock-store.js';
import { PushedGrants } from '../port/pushed-grants.js';
import { requestTimeoutFor } from '../port/times.js';
import { GrantChannel } from './grant-channel.js';
import { LockCalls } from './lock-calls.js';
import { PostgresConnection, type PgClient, type Row, type Statement } from './postgres-connection.js';
import {
  resolvePostgresOptions,
  type PostgresStoreOptions,
  type ResolvedPostgresOptions,
} from './postgres-options.js';
import { RequestQueue } from './request-queue.js';
import { postgresMigration, quoted } from './schema.js';
import { prepareConnection, verifyDatabase, type CheckResult } from './start-check.js';

/** How often a client removes what crashed processes have left behind, ms. */
const SWEEP_INTERVAL = 60_000;
/** The shortest time between two attempts of a client to repair the schema, ms: they may not help. */
const MENDING_PAUSE = 1_000;
/** Holds renewed in one statement: enough to spread its cost, and few enough not to delay other requests. */
const LARGEST_RENEWAL = 500;

/**
 * A store of locks in a PostgreSQL database (12 or newer), for
 * `DistributedLockModule.forRoot({ store: postgresStore({ … }) })`. Nothing is connected before the module starts.
 *
 * @throws LockOptionsError for options that can't work
 */
export function postgresStore(options: PostgresStoreOptions): LockStore {
  return new PostgresLockStore(resolvePostgresOptions(options));
}

/** Locks as rows of a PostgreSQL database. */
class PostgresLockStore implements LockStore {
  readonly name: string;
  readonly place: string;

  constructor(private readonly options: ResolvedPostgresOptions) {
    this.name = `PostgreSQL at ${options.connector.address}`;
    const { schema, keyPrefix } = options;
    const prefix = keyPrefix === '' ? '' : `, prefix ${JSON.stringify(keyPrefix)}`;
    this.place = `schema ${JSON.stringify(schema)}${prefix}`;
  }

  open(client: LockStoreClient): LockStoreSession {
    return new PostgresSession(this.options, client);
  }
}

/** One client's connections to PostgreSQL, and the requests on them. */
class PostgresSession implements LockStoreSession {
  readonly board: LockBoard;
  private readonly connection: PostgresConnection;
  private readonly queue: RequestQueue;
  private readonly calls: LockCalls;
  private readonly channel: GrantChannel;
  private readonly pushed: PushedGrants;
  private checked: CheckResult | undefined;
  /** Whether the next connection creates the schema first. */
  private lacksSchema: boolean;
  private mendedAt = -Infinity;
  private sweeping: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: ResolvedPostgresOptions,
    private readonly client: LockStoreClient,
  ) {
    const { connector, listener, schema, keyPrefix } = options;
    this.lacksSchema = options.createsSchema;
    const requestTimeout = requestTimeoutFor(client.watchdogTimeout);
    this.connection = new PostgresConnection(connector, requestTimeout, {
      mendsSchema: () => this.mendsSchema(),
      prepare: (opened) => this.prepare(opened),
      back: () => {
        client.reconnected();
      },
    });
    const calls = new LockCalls(schema, keyPrefix);
    this.calls = calls;
    this.queue = new RequestQueue(this.connection, (keys, requests) => calls.run(keys, requests));
    this.board = postgresBoard(schema, keyPrefix, (statement) => this.queue.send(statement));
    this.pushed = new PushedGrants(client);
    this.channel = new GrantChannel(client, listener, requestTimeout, (text) => {
      this.pushed.receive(text);
    });
  }

  get description(): string | undefined {
    return this.checked?.description;
  }

  async start(): Promise<void> {
    this.sweepLater();
    await this.connection.open();
  }

  acquire(request: AcquireRequest): PromiseLike<AcquireReply> {
    if (!request.wait) return this.askOnce(request);
    return this.channel.isOpen ? this.queueUp(request) : this.subscribeAndQueueUp(request);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    this.pushed.forget(request.owner);
    await this.queue.call(this.calls.cancel(request));
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.pushed.forget(request.owner);
    return this.queue.call(this.calls.release(request));
  }

  whenSent(): Promise<void> | undefined {
    return this.queue.whenSent();
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewReply[]> {
    const replies: RenewReply[] = [];
    for (let first = 0; first < requests.length; first += LARGEST_RENEWAL) {
      const some = requests.slice(first, first + LARGEST_RENEWAL);
      replies.push(...this.calls.toRenewReplies(await this.queue.send(this.calls.renew(some))));
    }
    return replies;
  }

  reserve(request: ReserveRequest): PromiseLike<ReserveReply> {
    return this.queue.call(this.calls.reserve(request));
  }

  async acquireAll(requests: readonly AcquireRequest[]): Promise<readonly Grant[] | number> {
    return await this.queue.call(this.calls.acquireAll(requests));
  }

  async inspect(key: string): Promise<StoredLock | null> {
    return await this.queue.call(this.calls.inspect(key));
  }

  async verify(): Promise<void> {
    await verifyDatabase(async (text, values = []) => await this.queue.send({ text, values }), this.options);
  }

  async listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    const rows = await this.queue.send(this.calls.listKeys(request));
    return this.calls.toListedKeys(rows, request);
  }

  connections(): readonly StoreConnection[] {
    const { connector, listener } = this.options;
    const requests = { name: `${connector.address} requests`, isOpen: this.connection.isReady };
    const { isUp } = this.channel;
    if (isUp === undefined || listener === undefined) return [requests];
    return [requests, { name: `${listener.address} messages`, isOpen: isUp }];
  }

  async forceRelease(key: string): Promise<boolean> {
    return await this.queue.call(this.calls.forceRelease(key));
  }

  async breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    return await this.queue.call(this.calls.breakHold(key, hold));
  }

  close(): Promise<void> {
    clearTimeout(this.sweeping);
    this.channel.close();
    this.queue.close();
    this.connection.close();
    return Promise.resolve();
  }

  private async askOnce(request: AcquireRequest): Promise<AcquireReply> {
    const { reply } = await this.queue.call(this.calls.acquire(request));
    return reply;
  }

  /**
   * A free lock needs no LISTEN (P7), waiting for a held one does (P14). Opening it takes time, so the owner is queued
   * before, to keep its position, and the engine learns at once that others hold the lock (B11).
   */
  private async subscribeAndQueueUp(request: AcquireRequest): Promise<AcquireReply> {
    const { client, channel } = this;
    const { key, owner } = request;
    const first = await this.queueUp(request);
    if (first.outcome !== 'queued' || channel.isOpen) return first;
    client.heldByOthers(owner, first.holderLeaseLeft);
    if (!(await this.pushed.subscribe(owner, channel))) {
      await this.cancel({ key, owner, inDoubt: false });
      return { outcome: 'cancelled' };
    }
    // A grant may have been pushed before the channel was open.
    return await this.queueUp(request);
  }

  private queueUp(request: AcquireRequest): Promise<AcquireReply> {
    return this.pushed.ask(
      request.owner,
      () => this.queue.call(this.calls.acquire(request)),
      () => {
        this.channel.suspect();
      },
    );
  }

  /** Prepares a connection for locks, and logs the warnings of the first one. */
  private async prepare(opened: PgClient): Promise<boolean> {
    const { options, checked, client } = this;
    if (this.lacksSchema) await this.createSchema(opened);
    const found = await prepareConnection(opened, options, requestTimeoutFor(client.watchdogTimeout));
    this.checked = found;
    if (checked === undefined) for (const warning of found.warnings) client.warn(warning);
    return found.isDirect;
  }

  private async createSchema(opened: PgClient): Promise<void> {
    const { schema } = this.options;
    const { rows } = await opened.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    // prepareConnection() rejects a standby with a better message.
    if (rows[0]?.standby === true) return;
    await opened.query(postgresMigration({ schema }));
    this.lacksSchema = false;
  }

  private mendsSchema(): boolean {
    const now = this.client.now();
    if (!this.lacksSchema && this.options.createsSchema && now - this.mendedAt > MENDING_PAUSE) {
      this.lacksSchema = true;
      this.mendedAt = now;
    }
    return this.lacksSchema;
  }

  /** Keys that are no longer requested keep what a crashed process has left there. */
  private sweepLater(): void {
    this.sweeping = setTimeout(
      () => {
        if (this.connection.isReady) this.queue.send(this.calls.sweep()).catch(() => undefined);
        this.sweepLater();
      },
      SWEEP_INTERVAL * (0.75 + Math.random() / 2),
    );
    this.sweeping.unref();
  }
}

/**
 * The board: a row for each text, while it lasts.
 *
 * @param place tells applications apart that share the schema, but no locks
 */
function postgresBoard(
  schema: string,
  place: string,
  send: (statement: Statement) => Promise<readonly Row[]>,
): LockBoard {
  const s = quoted(schema);
  // Quoted, so that no place is the beginning of another, and PostgreSQL can store it in a text.
  const nameOf = (name: string): string => `${JSON.stringify(place)} ${name}`;
  /** The mark that somebody watches: no process has this name. */
  const watched = nameOf('');
  const put = async (name: string, content: string, ttl: number): Promise<void> => {
    const text = `INSERT INTO ${s}.board AS b VALUES ($1, $2, ${s}.clock() + $3::bigint * 1000)
      ON CONFLICT (name) DO UPDATE SET content = excluded.content, ends = excluded.ends`;
    await send({ text, values: [name, content, ttl] });
  };
  return {
    watch: (ttl) => put(watched, '', ttl),
    isWatched: async () => {
      const text = `SELECT FROM ${s}.board b WHERE b.name = $1 AND b.ends > ${s}.clock()`;
      return (await send({ text, values: [watched] })).length > 0;
    },
    publish: (name, text, ttl) => put(nameOf(name), text, ttl),
    read: async () => {
      const text = `SELECT b.content FROM ${s}.board b
      WHERE starts_with(b.name, $1) AND b.name <> $1 AND b.ends > ${s}.clock()`;
      const rows = await send({ text, values: [watched] });
      return rows.map(({ content }) => String(content));
    },
  };
}
