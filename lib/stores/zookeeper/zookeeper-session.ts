import { inMs } from '../../common/durations.js';
import { ObservedLeases } from '../port/observed-leases.js';
import type {
  LockStoreError,
  AskReply,
  AskRequest,
  BreakReply,
  Grant,
  ListedKeys,
  ListKeysRequest,
  LockStoreClient,
  LockStoreSession,
  NamedHold,
  OwnerId,
  OwnerRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoreConnection,
  StoredLock,
} from '../port/lock-store.js';
import { PendingReleases } from '../port/turns.js';
import { SessionTimers, requestTimeoutFor, TOMBSTONE_TTL } from '../port/times.js';
import { ZooKeeperBoard } from './board/zookeeper-board.js';
import { ClientNodes } from './connection/client-nodes.js';
import { exists } from './connection/operations.js';
import { StartCheck } from './connection/start-check.js';
import { ZooKeeperConnection, type Request } from './connection/zookeeper-connection.js';
import { CODE, isAnswer } from './connection/zookeeper-error.js';
import { answered } from './connection/zookeeper-failure.js';
import type { SessionIdentity, WatchEvent } from './connection/zookeeper-socket.js';
import { nameOf } from './connection/server-socket.js';
import { longestLease, timeoutForLease } from './locks/session-times.js';
import { OwnPlaces } from './locks/own-places.js';
import { LockAcquirer } from './requests/lock-acquirer.js';
import { Holders } from './requests/holders.js';
import { HoldRequests } from './requests/hold-requests.js';
import { LockContainers } from './requests/lock-containers.js';
import { LockNodes } from './requests/lock-nodes.js';
import { LockInspection } from './requests/lock-inspection.js';
import { PlaceLifetimes } from './requests/place-lifetimes.js';
import { MultiAcquirer } from './requests/multi-acquirer.js';
import { Watches } from './requests/watches.js';
import { sessionTimeoutFor, type ResolvedZooKeeperOptions } from './zookeeper-options.js';

/** One client's session with ZooKeeper, and the requests in it. */
export class ZooKeeperSession implements LockStoreSession {
  readonly board: ZooKeeperBoard;
  readonly remainingIsBound = true;
  private readonly connection: ZooKeeperConnection;
  private readonly timers: SessionTimers;
  private readonly clientNodes: ClientNodes;
  private readonly containers: LockContainers;
  private readonly nodes: LockNodes;
  private readonly own = new OwnPlaces();
  private readonly watches: Watches;
  private readonly lifetimes: PlaceLifetimes;
  private readonly acquirer: LockAcquirer;
  private readonly holds: HoldRequests;
  private readonly multiAcquirer: MultiAcquirer;
  private readonly inspection: LockInspection;
  private readonly startCheck: StartCheck;
  private readonly releases = new PendingReleases();
  /** Those that wait for what else is under way for their owner. */
  private readonly unsent = new PendingReleases();
  /** Owners whose requests are refused should they come late. */
  private readonly refused = new Set<OwnerId>();

  constructor(
    options: ResolvedZooKeeperOptions,
    private readonly client: LockStoreClient,
  ) {
    const { hosts, tls, auth, paths, acl } = options;
    const requestTimeout = requestTimeoutFor(client.watchdogTimeout);
    const connection = new ZooKeeperConnection(
      hosts,
      { tls, auth, requestTimeout },
      (tick) => sessionTimeoutFor(options, client.watchdogTimeout, tick),
      {
        prepare: (request, session, isNew) => this.prepare(request, session, isNew),
        back: () => {
          this.nodes.giveUnwanted();
          client.reconnected();
        },
        lost: () => {
          this.watches.clear();
          for (const place of this.own.all) place.standing = undefined;
        },
        event: (event) => {
          this.event(event);
        },
      },
    );
    this.connection = connection;
    this.timers = new SessionTimers(client, true);
    this.clientNodes = new ClientNodes(paths, client.id, acl, (why) => {
      connection.reconnect(why);
    });
    this.containers = new LockContainers(client, connection.request, this.timers.timers);
    this.nodes = new LockNodes(client, connection.request, paths, this.clientNodes, acl, this.containers);
    const observed = new ObservedLeases(client, this.timers.timers, (path, version) => {
      this.nodes.end(path, version).catch(() => undefined);
    });
    const holders = new Holders(this.nodes, observed, this.timers.timers);
    this.watches = new Watches((place, isDataOnly) => {
      this.acquirer.wake(place, isDataOnly).catch(() => undefined);
    });
    const lifetimes = new PlaceLifetimes(this.nodes, this.own, this.timers.timers);
    this.lifetimes = lifetimes;
    this.acquirer = new LockAcquirer(this.nodes, this.own, holders, this.watches, lifetimes);
    this.holds = new HoldRequests(this.nodes, this.own, lifetimes);
    this.multiAcquirer = new MultiAcquirer(this.nodes, this.own, lifetimes);
    this.inspection = new LockInspection(this.nodes, this.own, lifetimes, holders);
    this.startCheck = new StartCheck(options, client);
    this.board = new ZooKeeperBoard(connection.request, paths, acl, this.timers.timers, client);
  }

  get description(): string | undefined {
    return this.startCheck.description;
  }

  async start(): Promise<void> {
    await this.connection.open();
  }

  async ask(request: AskRequest): Promise<AskReply> {
    const { owner } = request;
    if (this.refused.has(owner)) return { outcome: 'cancelled' };
    return await this.own.turns.run(owner, () => this.acquirer.ask(request));
  }

  async takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null> {
    const refused = requests.findIndex(({ owner }) => this.refused.has(owner));
    if (refused !== -1) return refused;
    return await this.multiAcquirer.takeAll(requests);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    this.refuseLate(request);
    const work = answered(() => this.own.turns.run(request.owner, () => this.holds.cancel(request)));
    await this.releases.track(request.key, work);
  }

  async release(request: OwnerRequest): Promise<ReleaseReply> {
    this.refuseLate(request);
    // Whoever was to leave the line before would hold the lock for a moment, and others would see it.
    const earlier = this.releases.of(request.key);
    const work = answered(() =>
      this.own.turns.isBusy(request.owner)
        ? this.unsent.track(
            request.key,
            this.own.turns.run(request.owner, () => this.holds.release(request)),
          )
        : this.holds.release(request),
    );
    const reply = await this.releases.track(request.key, work);
    if (earlier !== undefined) await earlier;
    return reply;
  }

  /**
   * A server that can't write its answers, since the process that asked is gone, closes the connection and leaves unread what
   * else came over it: only a single request is sure to be carried out when it was sent.
   */
  whenSent(key: string): Promise<unknown> | undefined {
    return (this.connection.underWay > 1 ? this.releases : this.unsent).of(key);
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]> {
    return await answered(() => this.holds.renew(requests));
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    return await answered(() => this.holds.reserve(request));
  }

  async inspect(key: string): Promise<StoredLock | null> {
    return await answered(() => this.inspection.inspect(key));
  }

  async forceRelease(key: string): Promise<boolean> {
    return await answered(() => this.inspection.forceRelease(key));
  }

  async breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    return await answered(() => this.inspection.breakHold(key, hold));
  }

  async listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return await answered(() => this.inspection.listKeys(request));
  }

  async verify(): Promise<void> {
    await answered(() => this.clientNodes.verify(this.connection.request));
  }

  get longestUnrenewed(): number {
    const { times } = this.connection;
    return times === undefined ? Infinity : longestLease(times);
  }

  /** What is to outlast the process has to end before the session can. */
  whyTooLong(lease: number): string | undefined {
    const { times } = this.connection;
    if (times === undefined || lease <= longestLease(times)) return undefined;
    return (
      `ZooKeeper ends the session ${inMs(times.timeout)} after the last contact with this process, so that a lock stays ` +
      `taken for ${inMs(longestLease(times))} without it, not ${inMs(lease)}. Shorten holdAtLeast, or set ` +
      `sessionTimeout of zookeeperStore, and maxSessionTimeout of the servers, to ` +
      `${String(timeoutForLease(lease, times.tick))} or more; locks of a process that died stay taken for as long then`
    );
  }

  connections(): readonly StoreConnection[] {
    const { host, isReady } = this.connection;
    return host === undefined ? [] : [{ name: nameOf(host), isOpen: isReady }];
  }

  async close(): Promise<void> {
    this.timers.close();
    const cleared = this.board.clear();
    const now = this.client.now();
    const holds = this.own.all.filter(({ hold }) => hold !== undefined && hold.endsAt > now);
    if (holds.length === 0) {
      await this.containers.clear();
      await this.connection.close(true);
      return;
    }
    // What is held still is left to expire: the session goes on without us, and everything but that goes now. Whoever comes
    // later could not know how much of a lease was over, so that it waited for all of it.
    const others = this.own.all.filter((place) => !holds.includes(place));
    await Promise.allSettled([
      cleared,
      ...others.map((place) => this.lifetimes.leave(place)),
      ...holds.map((place) => this.holds.writeRest(place)),
    ]);
    await this.containers.clear();
    await this.connection.close(false);
  }

  private async prepare(request: Request, session: SessionIdentity, isNew: boolean): Promise<void> {
    // All that the earlier session had is gone, or goes.
    if (isNew) {
      for (const place of this.own.clear()) this.lifetimes.keep(place);
      this.nodes.forget();
    }
    await this.clientNodes.prepare(request, session).catch((error: unknown) => {
      if (isAnswer(error, CODE.noNode)) {
        this.client.warn(
          `Nodes that locks need were deleted below ${this.nodes.paths.root} in ZooKeeper. The session ends, and with it what this ` +
            'process held there; a new one creates them again.',
        );
      }
      throw error;
    });
    await this.startCheck.check(request, this.connection);
  }

  private event(event: WatchEvent): void {
    if (this.clientNodes.needs(event)) this.connection.reconnect(`${event.path} was deleted or changed`);
    else if (event.path === this.clientNodes.mailbox) this.readMail().catch(() => undefined);
    else this.watches.event(event);
  }

  private async readMail(): Promise<void> {
    const owner = await this.clientNodes.readMail(this.connection.request);
    if (owner !== undefined) {
      this.broken(owner as OwnerId);
      return;
    }
    for (const { owner, path, hold } of this.own.all) {
      if (hold === undefined) continue;
      this.connection.request(exists(path)).catch((error: unknown) => {
        if (isAnswer(error, CODE.noNode)) this.broken(owner);
      });
    }
  }

  private broken(owner: OwnerId): void {
    const place = this.own.placeOf(owner);
    if (place?.hold === undefined) return;
    this.lifetimes.forget(place);
    this.client.broken(owner);
  }

  private refuseLate({ owner, inDoubt }: OwnerRequest): void {
    if (!inDoubt || this.refused.has(owner)) return;
    this.refused.add(owner);
    this.timers.timers.after(TOMBSTONE_TTL, () => this.refused.delete(owner));
  }
}
