import { inMs } from '../../common/durations.js';
import { Glob } from '../../common/glob.js';
import { TimerQueue } from '../../common/timer-queue.js';
import { decodeData, encodeData, type EntryData, type ReadEntry } from '../ordered/entry-data.js';
import { addressOf } from '../ordered/hosts.js';
import { clientOf, LockQueue, type QueueEntry } from '../ordered/lock-queue.js';
import {
  UnwantedError,
  type DriverEvents,
  type EntryWrite,
  type JoinReply,
  type OrderedDriver,
  type WriteReply,
} from '../ordered/ordered-driver.js';
import {
  LockStoreError,
  type AcquireRequest,
  type ListedKeys,
  type ListKeysRequest,
  type OwnerId,
  type StoreConnection,
} from '../port/lock-store.js';
import { checkCursor } from '../port/store-failure.js';
import { requestTimeoutFor } from '../port/times.js';
import { Gate } from '../port/turns.js';
import { ClientNodes } from './client-nodes.js';
import {
  check,
  create,
  exists,
  getChildren,
  getData,
  NODE,
  remove,
  setData,
  sync,
  type Created,
  type Stat,
} from './connection/protocol.js';
import {
  longestLease,
  timeoutForLease,
  ZooKeeperConnection,
  type Request,
} from './connection/zookeeper-connection.js';
import { CODE, hasCode, unless, ZooKeeperError } from './connection/zookeeper-failure.js';
import { EVENT, type SessionIdentity, type WatchEvent } from './connection/zookeeper-socket.js';
import { decoded, entriesIn, isEncodedKey, nameFor, sequenceIn } from './layout.js';
import { LockContainers } from './lock-containers.js';
import { checkServers } from './start-check.js';
import { ZooKeeperBoard } from './zookeeper-board.js';
import type { ResolvedZooKeeperOptions } from './zookeeper-options.js';

const NO_DATA = new Uint8Array();

/** The most queue positions requested at once: ZooKeeper replies in order, and renewals must not wait behind thousands. */
const MOST_JOINS = 256;

/** How often entries are created again if other clients create or delete their containers meanwhile. */
const MOST_ATTEMPTS = 5;

/** How long a raise of the tokens waits for a new connection, ms. */
const RAISE_TIMEOUT = 2_000;

/**
 * ZooKeeper counts the entries of a queue in 32 bits, and gives all entries after the last number the same one. From
 * this number on the queue accepts no entries, so that its container can be deleted when it is empty, and counting
 * starts again.
 */
const LAST_SEQUENCE = 2_000_000_000;

/**
 * Keeps ordered queues in ZooKeeper.
 *
 * | of `OrderedDriver` | in ZooKeeper |
 * | --- | --- |
 * | entry | an ephemeral sequential node in the container of its lock; its name tells owner, limit and permits |
 * | revision | the zxid |
 * | session | one of ZooKeeper; it also ends longer leases, so those can't outlast it |
 * | fence | a node whose version each write names |
 * | read | from one server, which may be behind: only a write shows that a hold has begun |
 * | watch | of one node, or of the container, once |
 */
export class ZooKeeperDriver implements OrderedDriver {
  readonly board: ZooKeeperBoard;
  description: string | undefined;
  private readonly connection: ZooKeeperConnection;
  private readonly clientNodes: ClientNodes;
  private readonly timers: TimerQueue;
  private readonly containers: LockContainers;
  private readonly request: Request;
  private readonly joins = new Gate(MOST_JOINS);
  /** It is connected again. */
  private onBack: () => void = () => undefined;

  constructor(
    private readonly options: ResolvedZooKeeperOptions,
    private readonly events: DriverEvents,
  ) {
    const { client } = events;
    this.timers = new TimerQueue({ monotonic: () => client.now() }, false, true);
    const { timers } = this;
    const { hosts, tls, auth, paths, acl, sessionTimeout, tickTime } = options;
    const { watchdogTimeout } = client;
    const connection = new ZooKeeperConnection(
      hosts,
      { tls, auth, requestTimeout: requestTimeoutFor(watchdogTimeout) },
      tickTime,
      (tick) => sessionTimeout ?? timeoutForLease(watchdogTimeout, tick),
      {
        prepare: (request, session, isNew) => this.prepare(request, session, isNew),
        back: () => {
          this.onBack();
          events.back();
        },
        lost: () => events.lost(),
        event: (event) => this.onEvent(event),
      },
    );
    this.connection = connection;
    const request: Request = (operation) => connection.request(operation);
    this.request = request;
    this.clientNodes = new ClientNodes(paths, client.id, acl, (why) => connection.reconnect(why));
    this.containers = new LockContainers(client, request, timers);
    this.board = new ZooKeeperBoard(request, paths, acl, timers, client);
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
    const { server, ready } = this.connection;
    return server === undefined ? [] : [{ name: addressOf(server), isOpen: ready !== undefined }];
  }

  /**
   * A server that can't write its replies because the process has exited closes the connection, and does not read the
   * rest of its input. So only a single request is sure to be carried out once it was sent.
   */
  get carriesOutWhatWasSent(): boolean {
    return this.connection.underWay <= 1;
  }

  async start(): Promise<void> {
    await this.connection.open();
  }

  verify(): Promise<void> {
    return this.clientNodes.verify(this.request);
  }

  /** Lists the locks that have a node, by name: some may have become free a moment ago. */
  async listKeys({ match, cursor = '', count }: ListKeysRequest): Promise<ListedKeys> {
    checkCursor(cursor === '' || isEncodedKey(cursor));
    const { locks } = this.options.paths;
    this.request(sync(locks)).catch(() => undefined);
    const all = (await unless(CODE.noNode, this.request(getChildren(locks, false))))?.names ?? [];
    const names = all.filter((name) => name > cursor && isEncodedKey(name)).sort();
    const some = names.slice(0, count);
    const glob = new Glob(match);
    const keys = some.map(decoded).filter((key) => glob.matches(key));
    return { keys, cursor: some.length < names.length ? some.at(-1) : undefined };
  }

  async close(endsSession: boolean): Promise<void> {
    this.timers.close();
    await Promise.all([this.board.clear(), this.containers.clear()]);
    await this.connection.close(endsSession);
  }

  /** A longer lease ends with the session, too. */
  isKept(lease: number, isRenewed: boolean): boolean {
    return isRenewed || lease >= this.events.client.watchdogTimeout;
  }

  tokenOf(revision: number): number {
    return this.clientNodes.tokens.tokenOf(revision);
  }

  /** The base is raised while a connection is prepared: then no request of the former one uses it. */
  async raiseTokens(floor: number): Promise<void> {
    const { tokens } = this.clientNodes;
    if (tokens.isAbove(floor)) return;
    const back = new Promise<void>((resolve) => (this.onBack = resolve));
    this.connection.reconnect('its tokens are raised above those of local locks');
    await this.timers.within(RAISE_TIMEOUT, back);
    if (tokens.isAbove(floor)) return;
    throw new LockStoreError('the tokens in ZooKeeper are not raised above those of local locks yet', {
      inDoubt: false,
      retryable: true,
      unreachable: true,
    });
  }

  join(request: AcquireRequest, dataFor: (state: 'free' | 'waits') => EntryData): Promise<JoinReply> {
    return this.joins.run(() => {
      if (request.wait && !this.events.client.isWanted(request.owner)) throw new UnwantedError();
      return this.joinNow(request, dataFor);
    });
  }

  private async joinNow(
    request: AcquireRequest,
    dataFor: (state: 'free' | 'waits') => EntryData,
  ): Promise<JoinReply> {
    const data = encodeData(dataFor(request.contended ? 'waits' : 'free'));
    for (let attempt = 1; ; attempt++) {
      const joined = await this.joinOnce(request, data, attempt === MOST_ATTEMPTS);
      if (joined === undefined) continue;
      if (sequenceIn(joined.path) > LAST_SEQUENCE) await this.startCountingAgain(joined.path);
      return joined;
    }
  }

  async queue(key: string, { isFresh = false, watch = false } = {}): Promise<LockQueue> {
    const path = this.options.paths.ofKey(key);
    if (isFresh) this.request(sync(path)).catch(() => undefined);
    const read = await unless(CODE.noNode, this.request(getChildren(path, watch)));
    return new LockQueue(key, entriesIn(path, read?.names ?? []), read?.stat.pzxid ?? 0);
  }

  async read(_key: string, path: string, watch = false): Promise<ReadEntry | undefined> {
    const read = await unless(CODE.noNode, this.request(getData(path, watch)));
    if (read === undefined) return undefined;
    const { data, stat } = read;
    return {
      data: decodeData(data.toString()),
      created: stat.czxid,
      modified: stat.mzxid,
      writes: stat.version,
      isOfSession: this.clientNodes.isOfSession(stat),
    };
  }

  async watchEnd({ path }: QueueEntry): Promise<boolean> {
    // It has no children. A watch of its data would fire at each write.
    return (await unless(CODE.noNode, this.request(getChildren(path, true)))) !== undefined;
  }

  /**
   * A write without data is a transaction as well: a reply of one server would not show that the others still have the
   * session.
   */
  async write(...writes: readonly EntryWrite[]): Promise<WriteReply | undefined> {
    const parts = writes.map(({ path, data }) =>
      data === undefined ? check(path) : setData(path, Buffer.from(encodeData(data))),
    );
    const stats = await unless(CODE.noNode, this.clientNodes.fenced(this.request, ...parts));
    return stats && { revision: (stats[0] as Stat | undefined)?.mzxid ?? 0 };
  }

  async writeAndRead(write: EntryWrite): Promise<(WriteReply & { readonly queue: LockQueue }) | undefined> {
    const [written, queue] = await Promise.all([this.write(write), this.queue(write.key)]);
    return written && { ...written, queue };
  }

  async remove(_key: string, path: string): Promise<boolean> {
    const removed = await unless(
      CODE.noNode,
      this.request(remove(path)).then(() => true),
    );
    this.containers.leave(containerOf(path));
    return removed === true;
  }

  async removeUnchanged(_key: string, path: string, modified: number): Promise<void> {
    // Most are gone by now, and a delete that fails is a transaction, too.
    const stat = await unless(CODE.noNode, this.request(exists(path)));
    if (stat?.mzxid !== modified) return;
    await this.request(remove(path, stat.version));
    this.containers.leave(containerOf(path));
  }

  tellBroken(_key: string, owner: string): void {
    const notice = setData(this.options.paths.breakNoticeOf(clientOf(owner)), Buffer.from(owner));
    // Fails if the client has gone.
    this.request(notice).catch(() => undefined);
  }

  /**
   * Undefined if it has to be tried again.
   *
   * @param isLast whether to throw instead
   */
  private async joinOnce(
    wanted: AcquireRequest,
    data: string,
    isLast: boolean,
  ): Promise<(JoinReply & { readonly path: string }) | undefined> {
    const { request, containers } = this;
    const { acl, paths } = this.options;
    const path = paths.ofKey(wanted.key);
    // In the same transaction: servers never delete a container that had no child.
    const missing = containers.has(path) ? [] : [create(path, NO_DATA, acl, NODE.container)];
    const creating = this.clientNodes.fenced(
      request,
      ...missing,
      create(`${path}/${nameFor(wanted)}`, Buffer.from(data), acl, NODE.ephemeralSequential),
    );
    const [outcome, read] = await Promise.allSettled([creating, this.queue(wanted.key)]);
    if (outcome.status === 'fulfilled') {
      containers.joined(path);
      if (read.status === 'rejected') throw read.reason;
      const created = outcome.value[missing.length] as Created;
      const queue = read.value;
      // The queue has not changed since the entry was created, so it has held the lock since then.
      const isHolder =
        !wanted.contended && queue.revision === created.stat.czxid && queue.holds(created.path);
      return { path: created.path, isHolder, created: created.stat.czxid, queue };
    }
    const error: unknown = outcome.reason;
    if (!(error instanceof ZooKeeperError) || isLast) throw error;
    // Part 0 is the fence, the next ones create containers.
    const isOfContainer = error.part !== undefined && error.part <= missing.length;
    if (isOfContainer && error.code === CODE.noNode) throw this.clientNodes.gone(paths.locks);
    // Other clients have created or deleted the container.
    const isChanged = read.status === 'fulfilled' && containers.found(path, read.value.revision > 0);
    if (!isChanged && !hasCode(error, CODE.noNode, CODE.nodeExists)) throw error;
    return undefined;
  }

  private async startCountingAgain(path: string): Promise<never> {
    await this.request(remove(path));
    // Fails as long as the queue has other entries.
    await this.request(remove(containerOf(path))).catch(() => undefined);
    throw new LockStoreError(
      'the sequence numbers of a queue in ZooKeeper are exhausted; they start again when the queue is empty',
      { inDoubt: false, retryable: true },
    );
  }

  /** Prepares a connection for locks. */
  private async prepare(request: Request, session: SessionIdentity, isNew: boolean): Promise<void> {
    const { client } = this.events;
    const { paths } = this.options;
    if (isNew) {
      this.events.sessionOver();
      this.events.dataLost();
      this.containers.leaveAll();
    }
    try {
      await this.clientNodes.prepare(request, session);
    } catch (error) {
      if (hasCode(error, CODE.noNode)) {
        client.warn(
          `Nodes that locks need were deleted below ${paths.root} in ZooKeeper. The session ends, and with it the locks that this ` +
            'process held there; a new session creates the nodes again.',
        );
      }
      throw error;
    }
    const { server, times, shownTick } = this.connection;
    if (server === undefined || times === undefined || shownTick === undefined) return;
    this.description ??= await checkServers(request, server, times, shownTick, this.options, client);
  }

  private onEvent(event: WatchEvent): void {
    const { type, path } = event;
    if (this.clientNodes.needs(event)) this.connection.reconnect(`${path} was deleted or changed`);
    else if (path === this.clientNodes.breakNotice) {
      this.clientNodes.readBreakNotice(this.request).then(
        (owner) => this.events.broken(owner as OwnerId | undefined),
        () => undefined,
      );
    } else {
      const key = this.options.paths.keyAt(path);
      this.events.changed(key ?? path, type !== EVENT.dataChanged);
    }
  }
}

function containerOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
