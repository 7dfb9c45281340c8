import type { RenewReplies, WholeSession } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockStoreClient,
  type OwnerId,
  type OwnerRequest,
  type ReleaseReply,
  type RenewRequest,
  type StoreConnection,
} from '../port/lock-store.js';
import { inMs } from '../../common/durations.js';
import { storeFailure } from '../port/store-failure.js';
import { requestTimeoutFor } from '../port/times.js';
import { plainCommand } from './connection/ioredis.js';
import type { ServerConnector } from './connection/redis-connection.js';
import { RecentReleases, ServerConnection } from './connection/server-connection.js';
import type { Rights } from './doctor/acl-rules.js';
import {
  checkedServer,
  checkRejected,
  checkReplicas,
  descriptionOf,
  examineServer,
  permissionTrial,
  type CheckedServer,
  type ExaminedServer,
} from './doctor/server-checks.js';
import { GrantChannel } from './grant-channel.js';
import { listKeys, redisBoard } from './operator-requests.js';
import type { Replicas } from './replicas.js';
import type { KeyNames, ListedNames } from './scripts/key-names.js';
import { Pipeline } from './scripts/pipeline.js';

/** How many releases are repeated in one turn of the event loop. */
const RELEASES_AT_ONCE = 256;

/** Additional properties of a server in a cluster. */
export interface ClusterPart {
  /** Its lowest slot, which is part of its channel names. */
  readonly slot: number;
  /** The slot of a key. */
  readonly slotOf: (key: string) => number;
  /** Whether the server has the slot of a key. */
  readonly concerns: (key: string) => boolean;
  /** The slot map may be outdated. */
  outdated(): void;
}

/** A client's session at one Redis server. */
export type WholeServerSession = ServerSession &
  WholeSession & {
    whenSent(): Promise<void> | undefined;
    /** Renews locks whose slot is moving to this server. */
    renewAsking(requests: readonly RenewRequest[]): Promise<RenewReplies>;
  };

/** A client's connections to one Redis server, whatever the format of its locks. */
export abstract class ServerSession {
  readonly board: LockBoard;
  protected readonly link: ServerConnection;
  protected readonly pipeline: Pipeline;
  protected readonly channel: GrantChannel;
  protected slot: number;
  /** Owners whose grant was cancelled in doubt: as that may end a later grant, the engine continues with another owner. */
  protected readonly usedUp = new Set<OwnerId>();
  private checked: ExaminedServer | undefined;
  /** The `run_id` of the server, if it is known. */
  private server: string | undefined;
  private readonly recentReleases: RecentReleases;
  /** Releases that this server may not have, until they have a reply here. */
  private readonly unrepeated: OwnerRequest[] = [];
  /** The `WAIT` that is sent at the end of this turn of the event loop. */
  private nextWait: Promise<number> | undefined;

  /**
   * @param names of everything but the locks
   * @param confirmedBy the replicas that must confirm a grant
   * @param locks the names of locks, for lists
   */
  constructor(
    connector: ServerConnector,
    protected readonly names: KeyNames,
    protected readonly client: LockStoreClient,
    private readonly confirmedBy: Replicas | undefined,
    protected readonly cluster: ClusterPart | undefined,
    private readonly locks: ListedNames = names,
  ) {
    this.slot = cluster?.slot ?? 0;
    const link = new ServerConnection(connector, requestTimeoutFor(client.watchdogTimeout), {
      back: () => {
        client.reconnected(cluster?.concerns);
        this.channel.open();
        void this.channel.follow(true);
        void this.repeatReleasesElsewhere();
        void this.check();
      },
      lost: () => {
        this.pipeline.disconnected();
        this.disconnected();
        cluster?.outdated();
      },
    });
    this.link = link;
    this.recentReleases = new RecentReleases(client.id);
    this.board = redisBoard(link, names.board);
    this.pipeline = new Pipeline(link, cluster?.slotOf);
    this.channel = new GrantChannel(
      this.channelName,
      cluster === undefined ? 'p' : 's',
      link,
      client,
      (channel, text) => this.onMessage(channel, text),
      () => cluster?.outdated(),
    );
  }

  get description(): string | undefined {
    const info = this.checked?.info;
    return info && descriptionOf(info);
  }

  get isCutOff(): boolean {
    return !this.link.isReady;
  }

  async start(): Promise<void> {
    await this.link.open();
    this.channel.open();
    this.server = await this.link.watch.server;
    await this.check();
  }

  listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return listKeys(this.link, this.locks, request);
  }

  /** Runs the commands of the scripts without an effect: the server rejects these for the same reasons. */
  async verify(): Promise<void> {
    const server = this.checkedServer();
    const rejected = await this.pipeline.send(permissionTrial(server));
    checkRejected(server, this.channel.mode, rejected);
    if (this.confirmedBy !== undefined) await this.link.do(() => checkReplicas(server));
  }

  /** The releases that the successors of this server may have lost; for {@link inherit}. */
  takeReleases(): readonly OwnerRequest[] {
    return [...this.unrepeated.splice(0), ...this.recentReleases.take()];
  }

  /** Takes over the releases of a server that may have lost them: repeats them now, or when this one can be reached. */
  inherit(requests: readonly OwnerRequest[]): void {
    this.unrepeated.push(...requests);
    if (this.link.isReady) void this.repeatReleases();
  }

  connections(): readonly StoreConnection[] {
    return this.link.connections();
  }

  /**
   * The map of the cluster was read: names the channels after another slot of the server, and forgets the waiters of keys
   * that other servers have. Returns whether there were any.
   */
  listenBy(slot: number): boolean {
    this.slot = slot;
    this.channel.listenOn(this.channelName);
    return this.cluster !== undefined && this.forgetMoved(this.cluster.concerns);
  }

  close(): Promise<void> {
    this.link.close();
    return Promise.resolve();
  }

  protected abstract onMessage(channel: string, text: string): void;

  /** The connection was lost, and the next one may lead to another server. */
  protected disconnected(): void {
    // A store without pushed grants has nothing to forget.
  }

  /** Has a release that was carried out recorded by {@link answered}. */
  abstract release(request: OwnerRequest): PromiseLike<ReleaseReply>;

  /** A failover may lose the release. */
  protected answered(request: OwnerRequest, reply: ReleaseReply): ReleaseReply {
    this.recentReleases.add(request, this.client.now());
    return reply;
  }

  /** Forgets the waiters of keys that other servers have; returns whether there were any. */
  protected abstract forgetMoved(concerns: (key: string) => boolean): boolean;

  /** What a user of the locks must have rights to. */
  protected get rights(): Rights {
    return { prefix: this.names.prefix };
  }

  /**
   * Resolves when enough replicas have all writes of a connection so far; at once if none has to.
   *
   * @param connection the connection that carried the write: `WAIT` covers only writes of its own connection
   */
  protected async confirm(connection: number): Promise<void> {
    if (this.confirmedBy === undefined) return;
    const { min, timeout } = this.confirmedBy;
    const confirmed = await (this.nextWait ??= this.waitForReplicas(this.confirmedBy));
    if (this.link.count !== connection) {
      throw new LockStoreError('the connection to Redis was lost before its replicas had confirmed', {
        inDoubt: true,
        retryable: true,
      });
    }
    if (confirmed >= min) return;
    throw new LockStoreError(
      `only ${String(confirmed)} of the ${String(min)} replicas required by replicas.min confirmed within ` +
        inMs(timeout),
      { inDoubt: false, retryable: true },
    );
  }

  /** One `WAIT` for all writes whose replies arrive together: it blocks the connection while replicas are missing. */
  private async waitForReplicas({ min, timeout }: Replicas): Promise<number> {
    await new Promise((resolve) => setImmediate(resolve));
    this.nextWait = undefined;
    return this.link.do((redis) => plainCommand(redis, 'WAIT', min, timeout));
  }

  /** Confirms renewals; those that too few replicas have fail, each on its own. */
  protected async confirmRenewals(renew: () => Promise<RenewReplies>): Promise<RenewReplies> {
    const connection = this.link.count;
    const replies = await renew();
    if (!replies.includes('renewed')) return replies;
    try {
      await this.confirm(connection);
      return replies;
    } catch (error) {
      if (!(error instanceof LockStoreError)) throw error;
      return replies.map((reply) => (reply === 'renewed' ? error : reply));
    }
  }

  /** Confirms a grant, or cancels it and rejects. */
  protected async confirmOrCancel(
    connection: number,
    owner: OwnerId,
    cancel: () => PromiseLike<unknown>,
  ): Promise<void> {
    try {
      await this.confirm(connection);
    } catch (error) {
      const isCancelled = await cancel().then(
        () => true,
        (failure: unknown) => {
          if (storeFailure(failure).inDoubt) this.usedUp.add(owner);
          return false;
        },
      );
      const { message } = error as Error;
      throw new LockStoreError(message, { inDoubt: !isCancelled, retryable: true, cause: error });
    }
  }

  private async repeatReleasesElsewhere(): Promise<void> {
    const server = await this.link.watch.server;
    if (server === undefined || server !== this.server) this.unrepeated.push(...this.recentReleases.take());
    this.server = server;
    await this.repeatReleases();
  }

  /** Those without a reply are repeated again over the next connection. */
  private async repeatReleases(): Promise<void> {
    const requests = this.unrepeated.splice(0);
    for (const [index, request] of requests.entries()) {
      this.release(request).then(undefined, (error: unknown) => {
        if (storeFailure(error).retryable) this.unrepeated.push(request);
      });
      // Requests of the application come in between.
      if (index % RELEASES_AT_ONCE === RELEASES_AT_ONCE - 1) await new Promise((done) => setImmediate(done));
    }
  }

  /** Warns the operator of foreseeable problems, once, as soon as the server is reached. */
  private async check(): Promise<void> {
    if (this.checked !== undefined && this.checked.refusal === undefined) return;
    try {
      this.checked = await examineServer(this.checkedServer());
    } catch {
      // The connection was lost. The check runs again after the next one.
      return;
    }
    const { refusal, mode, findings } = this.checked;
    if (refusal !== undefined) this.link.refusal = refusal;
    if (mode === 'a') this.channel.mode = 'a';
    for (const { level, text } of findings) if (level === 'problem') this.client.warn(text);
  }

  private checkedServer(): CheckedServer {
    const slot = this.cluster === undefined ? undefined : this.slot;
    const { link, names, client, rights } = this;
    return checkedServer(link, names, client.id, this.confirmedBy?.min ?? 0, slot, rights);
  }

  private get channelName(): string {
    return this.names.channels(this.slot) + this.client.id;
  }
}
