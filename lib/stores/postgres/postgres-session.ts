import type {
  AskReply,
  AskRequest,
  BreakReply,
  Grant,
  ListedKeys,
  ListKeysRequest,
  LockBoard,
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
import { PostgresBoard } from './board/postgres-board.js';
import type { PgClient } from './connection/pg-client.js';
import { PostgresConnection } from './connection/postgres-connection.js';
import { prepareConnection, verifyDatabase, type CheckResult } from './connection/start-check.js';
import type { ResolvedPostgresOptions } from './postgres-options.js';
import { GrantChannel, channelOf } from './pubsub/grant-channel.js';
import { LockCalls } from './requests/lock-calls.js';
import { toRenewReplies } from './requests/replies.js';
import { RequestQueue } from './requests/request-queue.js';
import { postgresMigration } from './schema/migration.js';

/** How often a client looks for what crashed processes have left behind, ms. */
const SWEEP_INTERVAL = 60_000;
/** The shortest time between two attempts of a client to create what is missing in the schema, ms: it may not help. */
const MENDING_PAUSE = 1_000;
/** Holds that are renewed in one statement: enough to spread its cost, and few enough not to keep others waiting. */
const LARGEST_RENEWAL = 500;

/** One client's connections to PostgreSQL, and the requests on them. */
export class PostgresSession implements LockStoreSession {
  readonly board: LockBoard;
  private readonly connection: PostgresConnection;
  private readonly queue: RequestQueue;
  private readonly calls: LockCalls;
  private readonly channel: GrantChannel;
  private readonly pushed: PushedGrants;
  private checked: CheckResult | undefined;
  /** Whether the schema is to be created before anything else, by this client. */
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
    const connection = new PostgresConnection(connector, requestTimeout, {
      mendsSchema: () => this.mendsSchema(),
      prepare: (opened) => this.prepare(opened),
      back: () => {
        client.reconnected();
      },
    });
    this.connection = connection;
    const calls = new LockCalls(schema, keyPrefix);
    this.calls = calls;
    this.queue = new RequestQueue(
      {
        get trouble() {
          return connection.trouble;
        },
        send: (statement) => connection.send(statement, this.checked?.isDirect === true),
      },
      (keys, words) => calls.run(keys, words),
    );
    this.board = new PostgresBoard(schema, keyPrefix, (statement) => this.queue.send(statement));
    this.pushed = new PushedGrants(client);
    this.channel = new GrantChannel(channelOf(client.id), listener, requestTimeout, {
      message: (text) => {
        this.pushed.receive(text);
      },
      resubscribed: () => {
        client.askAgain();
      },
      warn: (message) => {
        client.warn(message);
      },
    });
  }

  get description(): string | undefined {
    return this.checked?.description;
  }

  async start(): Promise<void> {
    this.sweepLater();
    await this.connection.open();
  }

  ask(request: AskRequest): PromiseLike<AskReply> {
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
      replies.push(...toRenewReplies(await this.queue.send(this.calls.renew(some))));
    }
    return replies;
  }

  reserve(request: ReserveRequest): PromiseLike<ReserveReply> {
    return this.queue.call(this.calls.reserve(request));
  }

  async takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number> {
    return await this.queue.call(this.calls.takeAll(requests));
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

  private async askOnce(request: AskRequest): Promise<AskReply> {
    const { reply } = await this.queue.call(this.calls.ask(request));
    return reply;
  }

  /**
   * A free lock needs no LISTEN (P7). A held one is waited for with one (P14), which takes its time: the place in the queue
   * is that of the moment in which the caller asked, and whoever waits is told first what is known already (B11).
   */
  private async subscribeAndQueueUp(request: AskRequest): Promise<AskReply> {
    const { client, channel } = this;
    const { key, owner } = request;
    const first = await this.queueUp(request);
    if (first.outcome !== 'queued' || channel.isOpen) return first;
    client.heldByOthers(owner, first.holderLeaseLeft);
    if (!(await this.pushed.subscribe(owner, channel))) {
      await this.cancel({ key, owner, inDoubt: false });
      return { outcome: 'cancelled' };
    }
    // A grant may have been pushed before anybody listened.
    return await this.queueUp(request);
  }

  private queueUp(request: AskRequest): Promise<AskReply> {
    return this.pushed.ask(
      request.owner,
      () => this.queue.call(this.calls.ask(request)),
      () => {
        this.channel.suspect();
      },
    );
  }

  /** Makes a connection fit for locks, and the first time tells the operator of what will go wrong. */
  private async prepare(opened: PgClient): Promise<void> {
    const { options, checked, client } = this;
    if (this.lacksSchema) await this.createSchema(opened);
    const found = await prepareConnection(opened, options, requestTimeoutFor(client.watchdogTimeout));
    this.checked = found;
    if (checked === undefined) for (const warning of found.warnings) client.warn(warning);
  }

  private async createSchema(opened: PgClient): Promise<void> {
    const { schema } = this.options;
    const { rows } = await opened.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    // A standby is found out next.
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

  /** A key that nobody asks for any more keeps what a crashed process left there. */
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
