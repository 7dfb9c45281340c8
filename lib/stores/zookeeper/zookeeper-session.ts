import { inMs } from '../../common/durations.js';
import { Glob } from '../../common/glob.js';
import { addressOf } from '../ordered/hosts.js';
import { clientOf } from '../ordered/lock-queue.js';
import { OrderedSession } from '../ordered/ordered-session.js';
import type {
  LockStoreError,
  AcquireReply,
  AcquireRequest,
  ListedKeys,
  ListKeysRequest,
  LockStoreClient,
  LockStoreSession,
  OwnerId,
  OwnerRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoreConnection,
  StoredHold,
  StoredWaiter,
  WallClockMs,
} from '../port/lock-store.js';
import { checkCursor } from '../port/store-failure.js';
import { requestTimeoutFor, TOMBSTONE_TTL } from '../port/times.js';
import { PendingReleases } from '../port/turns.js';
import { setData } from './connection/protocol.js';
import { CODE, hasCode } from './connection/zookeeper-failure.js';
import { checkServers } from './start-check.js';
import {
  longestLease,
  timeoutForLease,
  ZooKeeperConnection,
  type Request,
} from './connection/zookeeper-connection.js';
import type { SessionIdentity, WatchEvent } from './connection/zookeeper-socket.js';
import { ClientNodes } from './locks/client-nodes.js';
import { decoded, grantIn, isEncodedKey, type NodeQueue, type QueueEntry } from './locks/layout.js';
import { LockAcquirer } from './locks/lock-acquirer.js';
import { LockNodes } from './locks/lock-nodes.js';
import { OwnEntries, type OwnEntry } from './locks/own-entries.js';
import { ZooKeeperBoard } from './zookeeper-board.js';
import type { ResolvedZooKeeperOptions } from './zookeeper-options.js';

/** One client's session with ZooKeeper. */
export class ZooKeeperSession extends OrderedSession<QueueEntry> implements LockStoreSession {
  readonly board: ZooKeeperBoard;
  description: string | undefined;
  private readonly connection: ZooKeeperConnection;
  private readonly clientNodes: ClientNodes;
  private readonly nodes: LockNodes;
  private readonly own: OwnEntries;
  private readonly acquirer: LockAcquirer;
  /** Releases that wait for another request of their owner. */
  private readonly unsent = new PendingReleases();
  /** Owners whose late requests are rejected. */
  private readonly cancelled = new Set<OwnerId>();

  constructor(
    private readonly options: ResolvedZooKeeperOptions,
    client: LockStoreClient,
  ) {
    super(client);
    const { hosts, tls, auth, paths, acl, sessionTimeout } = options;
    const { watchdogTimeout } = client;
    const connection = new ZooKeeperConnection(
      hosts,
      { tls, auth, requestTimeout: requestTimeoutFor(watchdogTimeout) },
      (tick) => sessionTimeout ?? timeoutForLease(watchdogTimeout, tick),
      {
        prepare: (request, session, isNew) => this.prepare(request, session, isNew),
        back: () => {
          this.nodes.reconnected();
          client.reconnected();
        },
        lost: () => this.own.disconnected(),
        event: (event) => this.event(event),
      },
    );
    this.connection = connection;
    const { timers } = this;
    const { request } = connection;
    this.clientNodes = new ClientNodes(paths, client.id, acl, (why) => connection.reconnect(why));
    this.nodes = new LockNodes(client, request, paths, this.clientNodes, acl, timers);
    this.own = new OwnEntries(this.nodes, timers);
    this.acquirer = new LockAcquirer(this.nodes, this.own, timers);
    this.board = new ZooKeeperBoard(request, paths, acl, timers, client);
  }

  async start(): Promise<void> {
    await this.connection.open();
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { owner } = request;
    if (this.cancelled.has(owner)) return { outcome: 'cancelled' };
    return await this.own.turns.run(owner, () => this.acquirer.acquire(request));
  }

  async cancel(request: OwnerRequest): Promise<void> {
    this.rejectLate(request);
    const work = this.own.turns.run(request.owner, () => this.own.cancel(request));
    await this.releases.track(request.key, work);
  }

  async release(request: OwnerRequest): Promise<ReleaseReply> {
    const { key, owner } = request;
    this.rejectLate(request);
    // If this entry left the queue first, another one that is leaving would hold the lock for a moment.
    const earlier = this.releases.of(key);
    const { own } = this;
    const work = own.turns.isBusy(owner)
      ? this.unsent.track(
          key,
          own.turns.run(owner, () => own.release(request)),
        )
      : own.release(request);
    const reply = await this.releases.track(key, work);
    if (earlier !== undefined) await earlier;
    return reply;
  }

  /**
   * A server that can't write its replies because the process has exited closes the connection, and does not read the
   * rest of its input. So only a single request is sure to be carried out once it was sent.
   */
  whenSent(key: string): Promise<unknown> | undefined {
    return (this.connection.underWay > 1 ? this.releases : this.unsent).of(key);
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]> {
    return this.own.renew(requests);
  }

  reserve(request: ReserveRequest): Promise<ReserveReply> {
    return this.own.reserve(request);
  }

  /** Lists the locks that have a node, by name: some may have become free a moment ago. */
  async listKeys({ match, cursor = '', count }: ListKeysRequest): Promise<ListedKeys> {
    checkCursor(cursor === '' || isEncodedKey(cursor));
    const all = await this.nodes.namesOfLocks();
    const names = all.filter((name) => name > cursor && isEncodedKey(name)).sort();
    const some = names.slice(0, count);
    const glob = new Glob(match);
    const keys = some.map(decoded).filter((key) => glob.matches(key));
    return { keys, cursor: some.length < names.length ? some.at(-1) : undefined };
  }

  verify(): Promise<void> {
    return this.clientNodes.verify(this.connection.request);
  }

  get longestUnrenewed(): number {
    const { times } = this.connection;
    return times === undefined ? Infinity : longestLease(times);
  }

  /** A lock that is to outlast the process can't outlast the session. */
  whyTooLong(lease: number): string | undefined {
    const { times } = this.connection;
    if (times === undefined || lease <= longestLease(times)) return undefined;
    return (
      `ZooKeeper ends the session ${inMs(times.timeout)} after the last contact with this process, so a lock stays ` +
      `held for ${inMs(longestLease(times))} without it, not ${inMs(lease)}. Shorten holdAtLeast, or set ` +
      `sessionTimeout of zookeeperStore, and maxSessionTimeout of the servers, to ` +
      `${timeoutForLease(lease, times.tick)} or more; locks of a process that died then stay held for as long`
    );
  }

  connections(): readonly StoreConnection[] {
    const { host, isReady } = this.connection;
    return host === undefined ? [] : [{ name: addressOf(host), isOpen: isReady }];
  }

  async close(): Promise<void> {
    this.timers.close();
    const cleared = this.board.clear();
    const now = this.client.now();
    const held = this.own.all.filter(({ hold }) => hold !== undefined && hold.endsAt > now);
    if (held.length > 0) {
      // The session is left to end with them, so everything else is deleted now. The rest of each lease is written:
      // callers that come later would otherwise wait for all of it.
      const others = this.own.all.filter((entry) => !held.includes(entry));
      await Promise.allSettled([
        cleared,
        ...others.map((entry) => this.own.remove(entry)),
        ...held.map((entry) => this.own.leaveToExpire(entry)),
      ]);
    }
    await this.nodes.close();
    await this.connection.close(held.length === 0);
  }

  protected queueOf(key: string): Promise<NodeQueue> {
    return this.nodes.queue(key, { isFresh: true });
  }

  protected async breakEntry({ path, owner }: QueueEntry): Promise<boolean> {
    const { nodes } = this;
    if (!(await nodes.removeOfAny(path))) return false;
    // Fails if the client has gone.
    const notice = setData(nodes.paths.breakNoticeOf(clientOf(owner)), Buffer.from(owner));
    nodes.request(notice).catch(() => undefined);
    return true;
  }

  protected async storedHold({ path, owner, permits }: QueueEntry): Promise<StoredHold | undefined> {
    const { nodes } = this;
    const known = this.own.get(owner as OwnerId);
    if (known?.path === path && known.hold !== undefined && known.hold.endsAt <= nodes.client.now()) {
      await this.own.remove(known);
      return undefined;
    }
    const read = await nodes.read(path);
    if (read === undefined) return undefined;
    const { data, stat } = read;
    const grant = grantIn(data, stat);
    return {
      owner,
      token: data.token ?? (grant && nodes.clientNodes.tokenOf(grant.zxid)),
      since: (data.since ?? grant?.since) as WallClockMs | undefined,
      leaseLeft: nodes.observe(path, read),
      permits,
      label: data.label,
    };
  }

  protected async storedWaiter({
    path,
    owner,
    limit,
    permits,
  }: QueueEntry): Promise<StoredWaiter | undefined> {
    const read = await this.nodes.read(path);
    return read && { owner, limit, permits, callers: read.data.callers, label: read.data.label };
  }

  /** Prepares a connection for locks. */
  private async prepare(request: Request, session: SessionIdentity, isNew: boolean): Promise<void> {
    if (isNew) {
      this.own.clear();
      this.nodes.sessionEnded();
    }
    try {
      await this.clientNodes.prepare(request, session);
    } catch (error) {
      if (hasCode(error, CODE.noNode)) {
        this.client.warn(
          `Nodes that locks need were deleted below ${this.nodes.paths.root} in ZooKeeper. The session ends, and with it the locks that this ` +
            'process held there; a new session creates the nodes again.',
        );
      }
      throw error;
    }
    const { host, times } = this.connection;
    if (host === undefined || times === undefined) return;
    this.description ??= await checkServers(request, host, times, this.options, this.client);
  }

  private event(event: WatchEvent): void {
    if (this.clientNodes.needs(event)) this.connection.reconnect(`${event.path} was deleted or changed`);
    else if (event.path === this.clientNodes.breakNotice) this.readBreakNotice().catch(() => undefined);
    else this.acquirer.nodeChanged(event);
  }

  private async readBreakNotice(): Promise<void> {
    const owner = await this.clientNodes.readBreakNotice(this.connection.request);
    if (owner !== undefined) {
      this.broken(owner as OwnerId);
      return;
    }
    const look = async ({ path, hold, request }: OwnEntry): Promise<void> => {
      if (hold !== undefined && (await this.nodes.statOf(path)) === undefined) this.broken(request.owner);
    };
    await Promise.all(this.own.all.map(look));
  }

  private broken(owner: OwnerId): void {
    const entry = this.own.get(owner);
    if (entry?.hold === undefined) return;
    this.own.forget(entry);
    this.client.broken(owner);
  }

  private rejectLate({ owner, inDoubt }: OwnerRequest): void {
    if (!inDoubt || this.cancelled.has(owner)) return;
    this.cancelled.add(owner);
    this.timers.after(TOMBSTONE_TTL, () => this.cancelled.delete(owner));
  }
}
