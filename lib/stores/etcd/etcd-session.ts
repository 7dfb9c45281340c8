import {
  LockStoreError,
  type AskReply,
  type AskRequest,
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
import { PendingReleases } from '../port/turns.js';
import { SessionTimers, requestTimeoutFor } from '../port/times.js';
import { asked, storeFailure } from '../port/store-failure.js';
import { EtcdBoard } from './board/etcd-board.js';
import type { Endpoint } from './connection/endpoint.js';
import { EtcdConnection } from './connection/etcd-connection.js';
import { EtcdError, isOutOfSpace, status } from './connection/etcd-failure.js';
import { OUT_OF_SPACE, historyWarnings, isFull, warningsOf } from './connection/start-check.js';
import type { ResolvedEtcdOptions } from './etcd-options.js';
import { TransactionParts } from './locks/transaction-parts.js';
import { ImmediateGrants } from './locks/immediate-grants.js';
import { KeyTurns } from './locks/key-turns.js';
import { KeyNames, endOf } from './locks/key-names.js';
import { KnownShares } from './locks/known-shares.js';
import { LockAcquirer } from './locks/lock-acquirer.js';
import type { LockContext } from './locks/lock-context.js';
import { LockReleaser } from './locks/lock-releaser.js';
import { LockInspection } from './locks/lock-inspection.js';
import { LockReader } from './locks/lock-reader.js';
import { MultiAcquirer } from './locks/multi-acquirer.js';
import { Observations } from './locks/observations.js';
import { OwnEntries } from './locks/own-entries.js';
import type { OwnEntry } from './locks/own-entry.js';
import { PendingAsks } from './locks/pending-asks.js';
import { leaveToExpire } from './locks/remaining-holds.js';
import { SessionLeases } from './locks/session-leases.js';
import { TokenBase } from './locks/token-base.js';
import { Transactions } from './locks/transactions.js';
import { WaitedLocks } from './locks/waited-locks.js';
import { Watches } from './locks/watches.js';
import { methods } from './protocol/methods.js';

/** How long etcd may take for an answer, ms: a leader that dies takes what it was sent with it, and nobody says so. */
const REQUEST_TIMEOUT = 1_000;

/** One client's connection to an etcd cluster, and what it asks there. */
export class EtcdSession implements LockStoreSession {
  readonly board: LockBoard;
  readonly remainingIsBound = true;
  private readonly connection: EtcdConnection;
  private readonly context: LockContext;
  private readonly timers: SessionTimers;
  private readonly waited: WaitedLocks;
  private readonly acquirer: LockAcquirer;
  private readonly releaser: LockReleaser;
  private readonly multiAcquirer: MultiAcquirer;
  private readonly ownEntries: OwnEntries;
  private readonly inspection: LockInspection;
  private readonly shares = new KnownShares();
  private readonly releases = new PendingReleases();
  private listensForLetters = false;
  private wasPrepared = false;
  private version: string | undefined;

  constructor(
    { connection: options, keyPrefix }: ResolvedEtcdOptions,
    private readonly client: LockStoreClient,
  ) {
    const requestTimeout = requestTimeoutFor(client.watchdogTimeout, REQUEST_TIMEOUT);
    const connection = new EtcdConnection(options, requestTimeout, {
      prepare: (endpoint) => this.prepare(endpoint),
      back: () => {
        client.reconnected();
      },
      lost: () => {
        this.context.leases.disconnected();
        this.context.watches.disconnected();
      },
    });
    this.connection = connection;
    this.timers = new SessionTimers(client, true);
    const names = new KeyNames(keyPrefix);
    const now = () => client.now();
    const own = new Map<string, OwnEntry>();
    const context: LockContext = {
      client,
      connection,
      names,
      transactions: new Transactions(async (transaction) => {
        try {
          const answer = await connection.call(methods.transaction, transaction);
          context.base.saw(answer.revision);
          return answer;
        } catch (error) {
          const failure = storeFailure(error);
          // What it may have put, or may put yet, must not stay for as long as this process lives.
          if (failure.inDoubt) context.leases.leaveAll();
          // A lease on which something was to live is not there any more.
          this.checkLeases(failure.cause);
          throw error;
        }
      }),
      turns: new KeyTurns(),
      leases: new SessionLeases(
        connection,
        this.timers.timers,
        client,
        requestTimeout,
        (id) => [...own.values()].some(({ leaseId }) => leaseId === id),
        () => {
          client.reconnected();
        },
      ),
      base: new TokenBase(names.base, connection, () => {
        // Keys were deleted, or etcd has lost its data: what was seen since says nothing, and holds may be gone.
        context.observations.clear();
        this.shares.clear();
        client.reconnected();
      }),
      watches: new Watches(),
      observations: new Observations(now),
      own,
      timers: this.timers,
    };
    this.context = context;
    this.board = new EtcdBoard(context);
    const reader = new LockReader(context);
    const ownEntries = new OwnEntries(context, reader);
    this.ownEntries = ownEntries;
    this.waited = new WaitedLocks(context, reader, ownEntries);
    const parts = new TransactionParts(context, reader);
    const grants = new ImmediateGrants(context, ownEntries, parts, this.shares);
    const asks = new PendingAsks();
    this.acquirer = new LockAcquirer(context, reader, ownEntries, this.waited, parts, grants, asks);
    this.releaser = new LockReleaser(context, reader, ownEntries, this.waited, asks);
    this.multiAcquirer = new MultiAcquirer(context, reader, ownEntries, parts);
    this.inspection = new LockInspection(context, reader);
  }

  get description(): string | undefined {
    return this.version === undefined ? undefined : `etcd ${this.version}`;
  }

  async start(): Promise<void> {
    await this.connection.open();
  }

  ask(request: AskRequest): PromiseLike<AskReply> {
    if (request.wait) this.listenForLetters();
    return asked(() => this.acquirer.ask(request));
  }

  takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null> {
    return asked(() => this.multiAcquirer.takeAll(requests));
  }

  cancel(request: OwnerRequest): Promise<void> {
    return this.releases.track(
      request.key,
      asked(() => this.releaser.cancel(request)),
    );
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    return this.releases.track(
      request.key,
      asked(() => this.releaser.release(request)),
    );
  }

  /** What was only sent may be carried out after what another client asks later: requests are not carried out in order. */
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
    return asked(() => this.inspection.inspect(key));
  }

  listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return asked(() => this.inspection.listKeys(request));
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
      // A process that is asked for no lock because it is not healthy must become healthy all the same.
      base.found().catch(() => undefined);
      const message =
        `etcd has no key ${JSON.stringify(base.range.key)}, from which tokens are counted: somebody has deleted keys of ` +
        'locks. It is being created again';
      throw new LockStoreError(message, { inDoubt: false, retryable: true });
    });
  }

  async close(): Promise<void> {
    this.waited.close();
    if (this.connection.trouble === undefined) await leaveToExpire(this.context).catch(() => undefined);
    this.timers.close();
    this.ownEntries.close();
    this.connection.close();
  }

  /** Others who break a lock of this session tell it. Whoever has never waited hears of it at the next renewal. */
  private listenForLetters(): void {
    if (this.listensForLetters) return;
    this.listensForLetters = true;
    const start = this.context.names.mailbox(this.client.id);
    this.context.watches.watch({
      start,
      end: endOf(start),
      of: 'puts',
      watched: () => undefined,
      changed: (events) => {
        // What is written is of which lock.
        for (const { key, value } of events) this.releaser.broken(value, key.slice(start.length));
      },
    });
  }

  /** Makes a connection fit for locks, and the first time tells the operator of what will go wrong. */
  private async prepare(endpoint: Endpoint): Promise<void> {
    const { names, leases, watches } = this.context;
    const member = await endpoint.call(methods.status, undefined);
    let revision: number;
    try {
      revision = await this.readBase(endpoint);
      if (!this.wasPrepared) await this.checkRights(endpoint);
    } catch (error) {
      if (error instanceof EtcdError && error.code === status.permissionDenied)
        this.warnOfRights(names.prefix);
      throw error;
    }
    if (!this.wasPrepared) {
      const history = await historyWarnings(endpoint, names.base, revision);
      for (const warning of [...warningsOf(member), ...history]) this.client.warn(warning);
    }
    this.wasPrepared = true;
    this.version = member.version;
    leases.connected(endpoint);
    watches.connected(endpoint);
  }

  /** Answers the revision at which it was read. */
  private async readBase(endpoint: Endpoint): Promise<number> {
    const { base, observations } = this.context;
    const { revision, reply } = await endpoint.call(methods.range, base.range);
    if (base.isBehind(revision)) {
      // It has lost data, or was restored to what it was some time ago: what was seen since says nothing.
      observations.clear();
      this.shares.clear();
      this.waited.forgetSeen();
    }
    try {
      const isThere = base.learn(reply.entries);
      if (!isThere || base.isTooSmall) await base.found(endpoint, reply.entries[0]);
    } catch (error) {
      // A full etcd grants no lock, but goes on to keep those that are held.
      if (!isOutOfSpace(error)) throw error;
    }
    return revision;
  }

  /** A transaction that is never carried out, but needs all rights that locks need. */
  private async checkRights(endpoint: Endpoint): Promise<void> {
    const { prefix } = this.context.names;
    const end = `${prefix}\u{10ffff}`;
    await endpoint.call(methods.transaction, {
      do: 'txn',
      if: [
        { key: prefix, created: 0 },
        { key: prefix, created: 1 },
      ],
      then: [{ do: 'delete', key: prefix, end }],
      else: [{ do: 'range', key: prefix, end, countOnly: true, limit: 1 }],
    });
  }

  private warnOfRights(prefix: string): void {
    this.client.warn(
      `The user of etcd may not read and write all keys of locks. Give its role the right: etcdctl role grant-permission ` +
        `ROLE readwrite ${JSON.stringify(prefix)} --prefix=true.`,
    );
  }

  private checkLeases(cause: unknown): void {
    if (cause instanceof EtcdError && cause.code === status.notFound) this.context.leases.verify();
  }
}
