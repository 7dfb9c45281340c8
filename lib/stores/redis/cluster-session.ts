import { groupedBy } from '../../common/grouped-by.js';
import {
  LockStoreError,
  type ListedKeys,
  type ListKeysRequest,
  type LockStoreClient,
  type OwnerRequest,
  type RenewRequest,
  type StoreConnection,
} from '../port/lock-store.js';
import {
  forwardedBoard,
  ForwardingSession,
  renewInParts,
  type RenewReplies,
  type WholeSession,
} from '../port/forwarding-session.js';
import { adviceOn, checkCursor } from '../port/store-failure.js';
import { requestTimeoutFor } from '../port/times.js';
import { ClusterMap, type ClusterServer } from './connection/cluster-map.js';
import type { ClusterConnector, ServerConnector } from './connection/redis-connection.js';
import { notConnected, RedirectedError, redisRemedies } from './connection/redis-failure.js';
import { isScanCursor } from './operator-requests.js';
import type { ClusterPart, WholeServerSession } from './server-session.js';
import { keySlot } from './scripts/key-names.js';

/** How often a request follows a moving slot before it fails, so that the engine retries later. */
const MAX_REDIRECTS = 3;

/** The SCAN cursor, and the server (`host:port`) that it is for. */
const CURSOR = /^(\d+)@([^@\s]{1,255}:\d{1,5})$/;

/**
 * A client of a Redis Cluster: one session for each server that has slots. Locks and queues move with their slot,
 * and waiters repeat their requests at the new server.
 */
export class ClusterSession extends ForwardingSession {
  readonly board = forwardedBoard((request) =>
    this.atSlot(keySlot(this.names.board), (server) => request(server.board)),
  );
  private readonly map: ClusterMap;
  private readonly servers = new Map<string, WholeServerSession>();
  private connected = false;
  private closed = false;

  constructor(
    connector: ClusterConnector,
    private readonly names: { readonly board: string; slotOf(key: string): number },
    private readonly client: LockStoreClient,
    private readonly openServer: (connector: ServerConnector, part: ClusterPart) => WholeServerSession,
  ) {
    super();
    this.map = new ClusterMap(connector, requestTimeoutFor(client.watchdogTimeout), () => {
      if (this.connected) for (const start of this.syncServers()) start.catch(() => undefined);
    });
  }

  get description(): string | undefined {
    const each = new Set([...this.servers.values()].map(({ description }) => description));
    const [same] = each;
    const servers = `${String(this.servers.size)} primaries`;
    return each.size === 1 && same !== undefined ? `${servers}, each ${same}` : servers;
  }

  get isCutOff(): boolean {
    return this.servers.size > 0 && [...this.servers.values()].every((server) => server.isCutOff);
  }

  connections(): readonly StoreConnection[] {
    return [...this.servers.values()].flatMap((server) => server.connections());
  }

  /** Lists one server after the other, in the order of their addresses. */
  async listKeys({ cursor, ...request }: ListKeysRequest): Promise<ListedKeys> {
    const [, position = '0', ofServer] = CURSOR.exec(cursor ?? '') ?? [];
    checkCursor(
      cursor === undefined || (ofServer !== undefined && (position === '0' || isScanCursor(position))),
    );
    const addresses = [...this.servers.keys()].sort();
    const index = addresses.indexOf(ofServer ?? addresses[0] ?? '');
    const server = this.servers.get(addresses[index] ?? '');
    if (addresses.length === 0) throw this.unreachable(undefined);
    if (server === undefined) {
      // The server has left, or the cursor was made up, which says nothing about the cluster. Its keys are at other
      // servers, which may have been listed before.
      const message = 'the Redis Cluster has no such server as the cursor names; list again without a cursor';
      throw new LockStoreError(message, { inDoubt: false, retryable: false });
    }
    const listed = await server.listKeys({ ...request, cursor: position === '0' ? undefined : position });
    // Keys of slots that have moved away are listed by their new server.
    const keys = listed.keys.filter((key) => this.map.addressOf(this.names.slotOf(key)) === addresses[index]);
    const next = addresses[index + 1];
    if (listed.cursor !== undefined) return { keys, cursor: `${listed.cursor}@${addresses[index] ?? ''}` };
    return { keys, cursor: next === undefined ? undefined : `0@${next}` };
  }

  /** Rejects if no server is fit for locks. If one is, some locks can be acquired. */
  async verify(): Promise<void> {
    await this.anyOf([...this.servers.values()].map((server) => server.verify()));
  }

  async start(): Promise<void> {
    try {
      await this.map.connect();
    } catch (error) {
      throw this.unreachable(error as Error);
    } finally {
      this.connected = true;
    }
    await this.anyOf(this.syncServers());
  }

  /** Waits for all servers. Rejects if each has failed, or there is none. */
  private async anyOf(servers: readonly Promise<void>[]): Promise<void> {
    const results = await Promise.allSettled(servers);
    const failed = results.filter((result) => result.status === 'rejected');
    if (failed.length === results.length) throw failed[0]?.reason ?? this.unreachable(undefined);
  }

  whenSent(key: string): Promise<unknown> | undefined {
    const address = this.map.addressOf(this.names.slotOf(key));
    return address === undefined ? undefined : this.servers.get(address)?.whenSent();
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return renewInParts(
      requests,
      ({ key }) => this.names.slotOf(key),
      (slot, some) =>
        this.atSlot(
          slot,
          (server) => server.renew(some),
          (server) => server.renewAsking(some),
        ),
    );
  }

  async close(): Promise<void> {
    this.closed = true;
    this.map.close();
    await Promise.all([...this.servers.values()].map((server) => server.close()));
  }

  protected at<T>(key: string, request: (server: WholeSession) => PromiseLike<T>): Promise<T> {
    return this.atSlot(this.names.slotOf(key), request);
  }

  /** Sends a request to the server of the slot, and follows the slot if it has moved. */
  private async atSlot<T>(
    slot: number,
    request: (server: WholeServerSession) => PromiseLike<T>,
    asking?: (server: WholeServerSession) => PromiseLike<T>,
  ): Promise<T> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await request(this.serverOf(slot));
      } catch (error) {
        if (!(error instanceof LockStoreError) || this.closed) throw error;
        if (!(error instanceof RedirectedError)) {
          // The server may be down for good.
          if (error.retryable) this.map.refreshSoon();
          throw error;
        }
        if (error.kind === 'ask') {
          const target = this.servers.get(this.map.localAddress(error.address));
          if (target === undefined || asking === undefined) throw error;
          return await asking(target);
        }
        if (attempts === MAX_REDIRECTS) throw error;
        await this.map.refresh();
      }
    }
  }

  private serverOf(slot: number): WholeServerSession {
    const address = this.map.addressOf(slot);
    const server = address === undefined ? undefined : this.servers.get(address);
    if (server === undefined) {
      this.map.refreshSoon();
      const { failure, isEmpty } = this.map;
      const reason = failure?.message ?? (isEmpty ? 'the Cluster knows no address of a server' : undefined);
      const why = reason === undefined ? '' : ` (${reason})`;
      throw new LockStoreError(`no server of the Redis Cluster is known to have slot ${String(slot)}${why}`, {
        inDoubt: false,
        retryable: true,
        // A server that replies with an error, such as for a wrong password, is reachable.
        unreachable: failure?.name !== 'ReplyError',
        remedy: reason === undefined ? undefined : adviceOn(reason, redisRemedies),
      });
    }
    return server;
  }

  /** Opens and closes sessions to match the map. Returns the starts of the new ones. */
  private syncServers(): readonly Promise<void>[] {
    if (this.closed) return [];
    const present = this.map.servers();
    // Between two maps there may be no servers at all. Keep the sessions then.
    if (present.length === 0) return [];
    const starts: Promise<void>[] = [];
    let haveMoved = false;
    for (const server of present) {
      const known = this.servers.get(server.address);
      if (known === undefined) starts.push(this.open(server));
      else if (known.listenBy(server.slot)) haveMoved = true;
    }
    const addresses = new Set(present.map(({ address }) => address));
    for (const [address, session] of this.servers) {
      if (addresses.has(address)) continue;
      this.servers.delete(address);
      void this.repeatReleases(session.takeReleases(), starts);
      haveMoved = true;
      void session.close();
    }
    // Waiters request again at the servers that have their slots now.
    if (haveMoved) this.client.pollNow();
    return starts;
  }

  /** The successors of a server may have lost the releases that it had not replicated. */
  private async repeatReleases(
    requests: readonly OwnerRequest[],
    starts: readonly Promise<void>[],
  ): Promise<void> {
    await Promise.allSettled(starts);
    const addressOf = ({ key }: OwnerRequest): string => this.map.addressOf(this.names.slotOf(key)) ?? '';
    for (const [address, some] of groupedBy(requests, addressOf)) this.servers.get(address)?.inherit(some);
  }

  private open({ connector, slot, address }: ClusterServer): Promise<void> {
    const slotOf = (key: string): number => this.names.slotOf(key);
    const concerns = (key: string): boolean => this.map.addressOf(slotOf(key)) === address;
    const outdated = (): void => this.map.refreshSoon();
    const session = this.openServer(connector, { slot, slotOf, concerns, outdated });
    this.servers.set(address, session);
    const start = session.start();
    // The server may have received slots: waiters request at once, and holds may not have moved with them.
    start.then(
      () => this.client.reconnected(concerns),
      () => undefined,
    );
    return start;
  }

  private unreachable(error: Error | undefined): LockStoreError {
    return notConnected(this.map.failure ?? error);
  }
}
