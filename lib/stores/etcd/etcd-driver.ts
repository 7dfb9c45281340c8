import { Glob } from '../../common/glob.js';
import { TimerQueue } from '../../common/timer-queue.js';
import { decodeData, encodeData, type EntryData, type ReadEntry } from '../ordered/entry-data.js';
import { clientOf, LockQueue, type QueueEntry } from '../ordered/lock-queue.js';
import {
  TOKENS_PER_REVISION,
  type DriverEvents,
  type EntryWrite,
  type JoinReply,
  type OrderedDriver,
  type TokenShare,
  type WriteReply,
} from '../ordered/ordered-driver.js';
import {
  LockStoreError,
  type AcquireRequest,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type MonotonicMs,
  type OwnerId,
  type StoreConnection,
} from '../port/lock-store.js';
import { checkCursor, storeFailure } from '../port/store-failure.js';
import { checkFormat } from '../port/stored-format.js';
import { requestTimeoutFor } from '../port/times.js';
import { PendingWork } from '../port/turns.js';
import { ClientKeys } from './client-keys.js';
import type { Endpoint } from './connection/endpoint.js';
import { EtcdConnection } from './connection/etcd-connection.js';
import { EtcdError, status } from './connection/etcd-failure.js';
import type { ResolvedEtcdOptions } from './connection/etcd-options.js';
import {
  foundIn,
  methods,
  type AtRevision,
  type Call,
  type Condition,
  type KeyValue,
  type RangeCall,
  type StatusReply,
  type Transaction,
  type TransactionReply,
} from './connection/protocol.js';
import {
  OUT_OF_SPACE,
  checkRights,
  historyWarnings,
  isFull,
  memberWarnings,
} from './connection/start-check.js';
import { EtcdBoard } from './etcd-board.js';
import { EntryNames } from './entry-names.js';
import { JoinQueue, type Join } from './join-queue.js';
import { LockWatches, Watches } from './lock-watches.js';
import { SessionLeases } from './session-leases.js';
import { Reads, Transactions } from './transactions.js';

/** How long a request may take, ms. A leader that dies loses its pending requests, and nothing reports that. */
const REQUEST_TIMEOUT = 1_000;

/**
 * How long a deletion waits for this client's pending queue position, ms. Requests overtake each other: without that
 * position the next holder would see no waiters and serve all of its own callers first.
 */
const POSITION_FIRST = 500;

/** How often a write is repeated after the keys that it depends on were written again. */
const MOST_TRIES = 3;

/**
 * Keeps ordered queues in etcd.
 *
 * | of `OrderedDriver` | in etcd |
 * | --- | --- |
 * | entry | a key below that of its lock; its name tells owner, limit and permits; ordered by the revision that created it |
 * | session | a lease of etcd; longer holds are attached to longer leases, and may outlast the process |
 * | fence | a key whose revision each write names; deleted while etcd has no space for a new revision |
 * | read | from the majority, so that it can show that a hold has begun |
 * | write | several of one tick are one transaction |
 * | watch | one range for each lock |
 */
export class EtcdDriver implements OrderedDriver {
  readonly board: LockBoard;
  readonly carriesOutWhatWasSent = false;
  private readonly timers: TimerQueue;
  private readonly connection: EtcdConnection;
  private readonly names: EntryNames;
  private readonly leases: SessionLeases;
  private readonly watches = new Watches();
  private readonly lockWatches: LockWatches;
  private readonly transactions: Transactions;
  private readonly reads: Reads;
  private readonly keys: ClientKeys;
  private version: string | undefined;
  /** The pending writes of each entry: requests overtake each other. */
  private readonly writing = new PendingWork();
  private readonly joins: JoinQueue;
  private readonly removals = new PendingWork();
  /** The pending request for a queue position of each key, if it was sent before this tick. */
  private readonly joining = new PendingWork();

  constructor(
    { connection: options, keyPrefix }: ResolvedEtcdOptions,
    private readonly events: DriverEvents,
  ) {
    const { client } = events;
    this.timers = new TimerQueue({ monotonic: () => client.now() }, false, true);
    const { timers } = this;
    const requestTimeout = requestTimeoutFor(client.watchdogTimeout, REQUEST_TIMEOUT);
    this.names = new EntryNames(keyPrefix, client.id);
    this.connection = new EtcdConnection(options, requestTimeout, {
      prepare: (endpoint, member) => this.prepare(endpoint, member),
      back: () => events.back(),
      lost: () => {
        this.leases.disconnected();
        this.watches.disconnected();
        this.lockWatches.reset();
        events.lost();
      },
    });
    this.leases = new SessionLeases(this.connection, timers, client, requestTimeout, (isSession) => {
      // A new connection begins a new session.
      if (isSession) this.connection.reconnect('the lease of the session has ended');
      else client.reconnected();
    });
    this.keys = new ClientKeys(this.names, this.leases, this.connection, events);
    this.lockWatches = new LockWatches(this.names, this.watches, timers, (path, isGone) =>
      events.changed(path, isGone),
    );
    this.transactions = new Transactions((transaction) => this.send(transaction));
    this.reads = new Reads((transaction) => this.send(transaction));
    this.joins = new JoinQueue(
      (joins) => this.joinAll(joins),
      ({ owner, wait }) => !wait || client.isWanted(owner),
    );
    this.board = new EtcdBoard(this.names.board, this.connection, this.leases);
    this.listen();
  }

  get description(): string | undefined {
    return this.version === undefined ? undefined : `etcd ${this.version}`;
  }

  get lastsUntil(): MonotonicMs {
    return this.leases.lastsUntil;
  }

  connections(): readonly StoreConnection[] {
    return this.connection.status;
  }

  async start(): Promise<void> {
    await this.connection.open();
  }

  async verify(): Promise<void> {
    const { errors } = await this.connection.call(methods.status, undefined);
    if (isFull(errors)) throw new LockStoreError(OUT_OF_SPACE, { inDoubt: false, retryable: true });
    const { fence } = this.keys;
    const { reply } = await this.connection.call(methods.transaction, { do: 'txn', then: this.keys.ranges });
    const [, base] = reply.replies;
    if (fence === undefined ? this.keys.isBase(foundIn(base)) : this.keys.areRight(fence, reply.replies))
      return;
    this.keys.repair().catch(() => undefined);
    throw this.keys.failure;
  }

  /** In the order of the entries' names in etcd. */
  async listKeys({ match, cursor, count }: ListKeysRequest): Promise<ListedKeys> {
    const { names } = this;
    checkCursor(cursor === undefined || names.isEntry(cursor));
    const { reply } = await this.connection.call(methods.range, {
      do: 'range',
      // The cursor is the last name of the previous page.
      key: cursor === undefined ? names.locks.key : `${cursor}\0`,
      end: names.locks.end,
      limit: count,
      keysOnly: true,
    });
    const found = reply.entries.map(({ key }) => key);
    const glob = new Glob(match);
    const keys = [...new Set(found.map((name) => names.keyOf(name)))].filter((key) => glob.matches(key));
    return { keys, cursor: found.length < count ? undefined : found.at(-1) };
  }

  async close(endsSession: boolean): Promise<void> {
    this.timers.close();
    this.lockWatches.close();
    if (endsSession && this.connection.trouble === undefined) await this.leases.revoke();
    this.connection.close();
  }

  isKept(lease: number, isRenewed: boolean): boolean {
    return isRenewed && lease <= this.events.client.watchdogTimeout;
  }

  tokenOf(revision: number): number {
    return this.keys.tokens.tokenOf(revision);
  }

  async raiseTokens(floor: number): Promise<void> {
    for (let tries = 0; !this.keys.tokens.isAbove(floor); tries++) {
      if (tries === MOST_TRIES) throw this.keys.failure;
      await this.keys.repair();
    }
  }

  join(request: AcquireRequest, dataFor: (state: 'free' | 'waits') => EntryData): Promise<JoinReply> {
    return this.joins.join(request, dataFor);
  }

  async queue(key: string, { isFresh = false, watch = false } = {}): Promise<LockQueue> {
    const leaving = isFresh ? this.removals.of(key) : undefined;
    if (leaving !== undefined) await leaving;
    const readAt = this.events.client.now();
    // The token of a hold that is found by a read depends on the base at this revision.
    const { revision, reply } = await this.reads.of(this.rangeOf(key), this.keys.ranges[1]);
    const [found, base] = reply;
    if (!this.keys.isBase(foundIn(base))) {
      await this.keys.repair();
      throw this.keys.failure;
    }
    if (watch) this.lockWatches.at(key, 'changes').await(key, revision);
    return this.queueIn(key, foundIn(found), revision, readAt);
  }

  async read(key: string, path: string, watch = false): Promise<ReadEntry | undefined> {
    const readAt = this.events.client.now();
    const { entry, revision } = await this.find(path);
    if (entry === undefined) return undefined;
    if (watch) this.lockWatches.at(key, 'changes').await(path, revision);
    return this.contentOf(entry, readAt);
  }

  watchEnd({ path }: QueueEntry, { key, revision }: LockQueue): Promise<boolean> {
    this.lockWatches.at(key, 'deletions').await(path, revision);
    return Promise.resolve(true);
  }

  /** If all entries are only checked, nothing is written: their lease is confirmed, and the majority is asked for them. */
  async write(...writes: readonly EntryWrite[]): Promise<WriteReply | undefined> {
    return await this.put(writes, []);
  }

  async writeAndRead(write: EntryWrite): Promise<(WriteReply & { readonly queue: LockQueue }) | undefined> {
    const readAt = this.events.client.now();
    const written = await this.put([write], [this.rangeOf(write.key)]);
    if (written === undefined) return undefined;
    const { revision, reply } = written;
    return { revision, queue: this.queueIn(write.key, foundIn(reply.replies.at(-1)), revision, readAt) };
  }

  async remove(key: string, path: string): Promise<boolean> {
    return await this.removals.track(key, this.removeNow(key, path));
  }

  async removeUnchanged(key: string, path: string, modified: number): Promise<void> {
    // Most are gone by now, and a transaction that may delete costs etcd a write even if it does not.
    const { entry } = await this.find(path);
    if (entry?.modified === modified) await this.deleteIf(key, path, { key: path, modified });
  }

  tellBroken(key: string, owner: string): void {
    void this.notify(key, owner).catch(() => undefined);
  }

  private async removeNow(key: string, path: string): Promise<boolean> {
    const position = this.joining.of(key);
    if (position !== undefined) await this.timers.within(POSITION_FIRST, position);
    return await this.deleteIf(key, path, { key: path, exists: true });
  }

  private async deleteIf(key: string, path: string, condition: Condition): Promise<boolean> {
    const transaction: Transaction = { do: 'txn', if: [condition], then: [{ do: 'delete', key: path }] };
    // Not before a request of the same tick for a queue position.
    const { reply } = await this.transactions.run([path], transaction, { behind: key });
    return reply.succeeded;
  }

  /** Settles requests for one key, in order: see {@link JoinQueue}. */
  private async joinAll(joins: readonly Join[]): Promise<readonly Join[]> {
    const [first, ...others] = joins;
    if (first === undefined) return [];
    const { key, limit, wait, contended } = first.request;
    // Requests overtake each other, and callers do not wait for the reply to a release.
    const leaving = this.removals.of(key);
    if (leaving !== undefined) await leaving;
    const isTried = limit === 1 ? !contended || !wait : !wait;
    if (!isTried) {
      await this.joinQueue(key, joins);
      return [];
    }
    let free: JoinReply;
    try {
      free = await this.joinFree(first.request, first.dataFor);
    } catch (error) {
      first.reject(error);
      return others;
    }
    if (free.isHolder) first.resolve(free);
    // The reply is for the others, too: none of them was called after the request was sent.
    await this.joinBehind(free.queue, free.isHolder ? others : joins);
    return [];
  }

  /** Joins a queue that was read just now; refuses callers that don't wait and would not hold the lock. */
  private async joinBehind(found: LockQueue, joins: readonly Join[]): Promise<void> {
    const { key, revision, readAt } = found;
    let queue = found;
    const joining = joins.filter(({ request, resolve }) => {
      const { owner, limit, permits, wait } = request;
      if (wait) this.events.client.heldByOthers(owner, undefined);
      else if (limit === 1 || queue.conflictWith(limit) !== undefined || !queue.hasRoom(request)) {
        resolve({ path: undefined, isHolder: false, created: 0, queue: found });
        return false;
      }
      const entries = [...queue.entries, { path: '', owner, limit, permits }];
      queue = new LockQueue(key, entries, revision, readAt);
      return true;
    });
    if (joining.length > 0) await this.joinQueue(key, joining);
  }

  /** Creates the entry if the lock has no other one. This transaction has as few operations as possible. */
  private async joinFree(request: AcquireRequest, dataFor: Join['dataFor']): Promise<JoinReply> {
    const { key } = request;
    for (;;) {
      const data = dataFor('free');
      const lease = this.leases.at(data.lease) ?? (await this.leases.for(data.lease));
      const path = this.names.entry(request);
      const readAt = this.events.client.now();
      const { revision, reply } = await this.fenced([key], {
        do: 'txn',
        if: [{ ...this.names.lock(key), exists: false }],
        then: [{ do: 'put', key: path, value: encodeData(data), lease }],
        else: [this.rangeOf(key)],
      });
      if (reply.succeeded) {
        const { owner, limit, permits } = request;
        const read = { data, created: revision, modified: revision, writes: 0, isOfSession: true, readAt };
        const entry = { path, owner, limit, permits, content: () => read };
        const queue = new LockQueue(key, [entry], revision, readAt);
        return { path, isHolder: true, created: revision, queue };
      }
      const found = foundIn(reply.replies[0]);
      // A deletion of the same tick may have emptied it.
      if (found.length === 0) continue;
      const queue = this.queueIn(key, found, revision, readAt);
      return { path: undefined, isHolder: false, created: 0, queue };
    }
  }

  /** Creates entries at the end of the queue by one transaction, in order. Each has a share of its tokens. */
  private async joinQueue(key: string, joins: readonly Join[]): Promise<void> {
    const count = Math.floor(TOKENS_PER_REVISION / joins.length);
    const puts: Call[] = [];
    const made: {
      readonly join: Join;
      readonly path: string;
      readonly state: string;
      readonly share: TokenShare;
    }[] = [];
    for (const join of joins) {
      const { request, dataFor, reject } = join;
      const { limit, wait, contended } = request;
      const state = limit === 1 || contended ? 'waits' : 'free';
      const share: TokenShare = { offset: puts.length * count, count };
      const data = { ...dataFor(state), offset: share.offset || undefined };
      const ms = state === 'free' ? data.lease : data.claim;
      try {
        const lease = this.leases.at(ms) ?? (await this.leases.for(ms));
        const path = this.names.entry(request);
        puts.push({ do: 'put', key: path, value: encodeData(data), lease });
        made.push({ join, path, state, share });
        // Starts the watch, so that it probably runs before the reply.
        if (wait) this.lockWatches.at(key, 'deletions');
      } catch (error) {
        reject(error);
      }
    }
    if (made.length === 0) return;
    const readAt = this.events.client.now();
    const then = [...puts, this.rangeOf(key)];
    const sent = this.fenced([key], { do: 'txn', if: [], then, else: [] });
    if (made.some(({ join }) => join.request.wait && join.request.limit === 1)) this.onJoin(key, sent);
    try {
      const { revision, reply } = await sent;
      // The same request may delete entries after this one has read them.
      const queue = this.queueIn(key, foundIn(reply.replies.at(-1)), revision - 1, readAt);
      for (const { join, path, state, share } of made) {
        const isHolder = state === 'free' && queue.holds(path);
        join.resolve({ path, isHolder, created: revision, share, queue });
      }
    } catch (error) {
      const { inDoubt, unreachable } = storeFailure(error);
      // etcd rejected the whole request: only the entry that caused the error fails.
      if (made.length > 1 && !inDoubt && !unreachable)
        for (const { join } of made) await this.joinQueue(key, [join]);
      else for (const { join } of made) join.reject(error);
    }
  }

  /** From the next tick on, deletions wait for this request: in this tick, they are sent with it. */
  private onJoin(key: string, sent: Promise<unknown>): void {
    setImmediate(() => void this.joining.track(key, sent).catch(() => undefined));
  }

  private async put(
    writes: readonly EntryWrite[],
    more: readonly Call[],
  ): Promise<AtRevision<TransactionReply> | undefined> {
    const before = writes.flatMap(({ path }) => this.writing.of(path) ?? []);
    const work = (): Promise<AtRevision<TransactionReply> | undefined> => this.putNow(writes, more);
    const running = before.length === 0 ? work() : Promise.all(before).then(work);
    for (const { path } of writes) this.writing.track(path, running).catch(() => undefined);
    return await running;
  }

  private async putNow(
    writes: readonly EntryWrite[],
    more: readonly Call[],
  ): Promise<AtRevision<TransactionReply> | undefined> {
    const { watchdogTimeout } = this.events.client;
    const puts: Call[] = [];
    for (const { path, data } of writes) {
      const ms = data === undefined ? watchdogTimeout : data.state === 'waits' ? data.claim : data.lease;
      const isOwn = this.names.isOwn(path);
      const lease = isOwn ? (this.leases.at(ms) ?? (await this.leases.for(ms))) : 'keep';
      if (data !== undefined) puts.push({ do: 'put', key: path, value: encodeData(data), lease });
    }
    const exist = writes.map(({ path }): Condition => ({ key: path, exists: true }));
    const paths = writes.map(({ path }) => path);
    if (puts.length === 0) {
      // Without a range, etcd would reply from the state of one member, which may be behind.
      const then = [{ do: 'range', key: paths[0] ?? '', countOnly: true } as const];
      const read = await this.send({ do: 'txn', if: exist, then });
      return read.reply.succeeded ? read : undefined;
    }
    // Writes of one lock have different revisions, since tokens are derived from them.
    const concerns = [...paths, ...new Set(writes.map(({ key }) => key))];
    const isRenewal = writes.every(({ data }) => data?.state !== 'waits');
    const transaction = { do: 'txn', if: exist, then: [...puts, ...more], else: [] } as const;
    const written = await this.fenced(concerns, transaction, isRenewal);
    return written.reply.succeeded ? written : undefined;
  }

  /** Carries out a transaction that writes, on condition that no later connection exists and the base is the known one. */
  private async fenced(
    concerns: readonly string[],
    { if: conditions, then, else: otherwise }: Required<Transaction>,
    isRenewal = false,
  ): Promise<AtRevision<TransactionReply>> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const fence = this.keys.fence ?? (await this.keys.raise());
      const transaction: Transaction = {
        do: 'txn',
        if: [...conditions, ...this.keys.conditions(fence)],
        then,
        else: [...otherwise, ...this.keys.ranges],
      };
      const written = await this.transactions.run(concerns, transaction, { isRenewal });
      const { succeeded, replies } = written.reply;
      if (succeeded || this.keys.areRight(fence, replies.slice(otherwise.length))) return written;
      await this.keys.repair();
    }
    throw this.keys.failure;
  }

  private async find(
    path: string,
  ): Promise<{ readonly entry: KeyValue | undefined; readonly revision: number }> {
    const { revision, reply } = await this.reads.of({ do: 'range', key: path });
    return { entry: foundIn(reply[0])[0], revision };
  }

  private rangeOf(key: string): RangeCall {
    return { do: 'range', ...this.names.lock(key) };
  }

  private queueIn(key: string, found: readonly KeyValue[], revision: number, readAt: MonotonicMs): LockQueue {
    // Entries of one transaction have the same revision, and are of one client, which counts them.
    const order = (one: KeyValue, other: KeyValue): number =>
      one.created - other.created || this.names.countOf(one.key) - this.names.countOf(other.key);
    const entries = [...found].sort(order).flatMap((one): QueueEntry[] => {
      const entry = this.names.read(one.key);
      return entry === undefined ? [] : [{ ...entry, content: () => this.contentOf(one, readAt) }];
    });
    return new LockQueue(key, entries, revision, readAt);
  }

  private contentOf({ key, value, created, modified, lease }: KeyValue, readAt: MonotonicMs): ReadEntry {
    let data: EntryData;
    try {
      data = decodeData(value);
    } catch (cause) {
      const message = `etcd has something at ${JSON.stringify(key)} that is not a lock`;
      throw new LockStoreError(message, { inDoubt: true, retryable: false, cause });
    }
    return {
      data,
      created,
      modified,
      writes: modified === created ? 0 : 1,
      isOfSession: this.leases.has(lease),
      readAt,
    };
  }

  private async send(transaction: Transaction): Promise<AtRevision<TransactionReply>> {
    try {
      const reply = await this.connection.call(methods.transaction, transaction);
      this.keys.saw(reply.revision);
      return reply;
    } catch (error) {
      const { cause } = storeFailure(error);
      // The transaction named a lease that etcd no longer has.
      if (cause instanceof EtcdError && cause.code === status.notFound) this.leases.verify();
      throw error;
    }
  }

  /** Receives notices of other clients that have broken a hold of this one. */
  private listen(): void {
    const range = this.names.breakNotices(this.events.client.id);
    this.watches.watch({
      range,
      of: 'puts',
      onWatched: () => undefined,
      onChanged: (changes) => {
        for (const { key } of changes) this.events.broken(key.slice(range.key.length) as OwnerId);
      },
    });
  }

  private async notify(key: string, owner: string): Promise<void> {
    const notice = this.names.breakNotices(clientOf(owner)).key + owner;
    const lease = await this.leases.for(0);
    await this.transactions.run([notice], {
      do: 'txn',
      then: [{ do: 'put', key: notice, value: key, lease }],
    });
    // The watch has delivered the notice by its put.
    await this.transactions.run([notice], { do: 'txn', then: [{ do: 'delete', key: notice }] });
  }

  /** Prepares a connection for locks; the first time also warns the operator of problems. */
  private async prepare(endpoint: Endpoint, member: StatusReply): Promise<void> {
    const { names } = this;
    const { client } = this.events;
    const isFirst = this.version === undefined;
    let revision: number;
    try {
      // Before anything is written.
      if (isFirst) {
        const { reply } = await endpoint.call(methods.range, { do: 'range', key: names.format });
        checkFormat(reply.entries[0]?.value, `etcd at ${endpoint.address}`, 'keyPrefix');
      }
      if (isFirst) await checkRights(endpoint, names.prefix);
      revision = await this.keys.prepare(endpoint);
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
    this.leases.connected(endpoint);
    this.watches.connected(endpoint);
  }
}
