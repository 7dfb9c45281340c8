import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { pauseBeforeConnecting } from '../../port/times.js';
import { renewCredentials } from './credentials.js';
import { serverConnector, type ClusterConnector, type ServerConnector } from './redis-connection.js';

/** The shortest time between two reads of the map, and the usual one, ms. */
const MIN_REFRESH_INTERVAL = 100;
const REFRESH_INTERVAL = 5_000;

/** A server of the cluster that has slots. */
export interface ClusterServer {
  /** `host:port`. */
  readonly address: string;
  /** Its lowest slot. */
  readonly slot: number;
  readonly connector: ServerConnector;
}

/** Which server of a cluster has which slots, as discovered by ioredis. */
export class ClusterMap {
  /** Why the last attempt to read the map failed. */
  failure: Error | undefined;

  private readonly cluster: Cluster;
  /** The present user and password of the nodes. */
  private readonly credentials: RedisOptions = {};
  private pendingRefresh: Promise<void> | undefined;
  private refreshedAt = -Infinity;
  private refreshTimer: NodeJS.Timeout | undefined;
  private regularRefresh: NodeJS.Timeout | undefined;
  private closed = false;
  /** Consecutive failed attempts to reach the cluster. */
  private attempts = 0;

  /** @param onChange called after each read of the map */
  constructor(
    private readonly connector: ClusterConnector,
    requestTimeout: number,
    onChange: () => void,
  ) {
    this.cluster = connector.open(requestTimeout, () => {
      void this.renewCredentials();
      return pauseBeforeConnecting(this.attempts++, requestTimeout);
    });
    this.cluster.on('error', (error: Error & { lastNodeError?: Error }) => {
      this.failure = error.lastNodeError ?? error;
    });
    this.cluster.on('node error', (error: Error) => {
      this.failure = error;
    });
    // Nodes connect later, with these.
    this.cluster.on('+node', (node: Redis) => Object.assign(node.options, this.credentials));
    this.cluster.on('-node', () => void this.renewCredentials());
    this.cluster.on('refresh', () => {
      this.failure = undefined;
      this.refreshedAt = performance.now();
      // A map without servers counts as a failed attempt.
      if (this.cluster.slots.some((addresses) => addresses.length > 0)) this.attempts = 0;
      onChange();
    });
  }

  /** Rejects if the cluster is unreachable; ioredis keeps trying. */
  async connect(): Promise<void> {
    const { slotsRefreshInterval = REFRESH_INTERVAL } = this.connector.options;
    if (slotsRefreshInterval > 0) this.refreshEvery(slotsRefreshInterval);
    await this.renewCredentials();
    await this.cluster.connect();
  }

  /** Whether the cluster has replied with a map that names no server. */
  get isEmpty(): boolean {
    return (
      this.refreshedAt > -Infinity &&
      this.cluster.slots.every(([first]) => first === undefined || first.startsWith(':'))
    );
  }

  /** `host:port` of the server that has the slot. */
  addressOf(slot: number): string | undefined {
    return this.cluster.slots[slot]?.[0];
  }

  /** The address (`host:port`) by which this process reaches a server, for the address that the cluster reports. */
  localAddress(address: string): string {
    const { natMap } = this.connector.options;
    const local = typeof natMap === 'function' ? natMap(address) : natMap?.[address];
    return local === undefined || local === null ? address : `${local.host}:${String(local.port)}`;
  }

  /** All servers that have slots. */
  servers(): readonly ClusterServer[] {
    const lowest = new Map<string, number>();
    this.cluster.slots.forEach(([address], slot) => {
      if (address !== undefined && !lowest.has(address)) lowest.set(address, slot);
    });
    return this.cluster.nodes('all').flatMap((node) => {
      const { options } = node;
      const { credentials } = this.connector;
      const connector = serverConnector(options, credentials, (overrides) => node.duplicate(overrides));
      const { address } = connector;
      const slot = lowest.get(address);
      return slot === undefined ? [] : [{ address, slot, connector }];
    });
  }

  /** Reads the map again. Never rejects: the old map stays if no node is reachable. */
  refresh(): Promise<void> {
    this.pendingRefresh ??= this.readAgain().finally(() => {
      this.pendingRefresh = undefined;
    });
    return this.pendingRefresh;
  }

  private refreshEvery(interval: number): void {
    this.regularRefresh = setTimeout(() => {
      if (this.cluster.status === 'ready') this.cluster.refreshSlotsCache();
      this.refreshEvery(interval);
    }, interval);
    this.regularRefresh.unref();
  }

  /** Schedules one read of the map, however often it is called. */
  refreshSoon(): void {
    if (this.closed || this.refreshTimer !== undefined) return;
    const pause = Math.max(0, this.refreshedAt + MIN_REFRESH_INTERVAL - performance.now());
    this.refreshTimer = setTimeout(() => {
      this.refreshTimer = undefined;
      void this.refresh();
    }, pause);
    this.refreshTimer.unref();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.refreshTimer);
    clearTimeout(this.regularRefresh);
    this.cluster.disconnect();
  }

  /** For the connections to nodes that follow. Never rejects. */
  private async renewCredentials(): Promise<void> {
    const { cluster, connector, credentials } = this;
    try {
      await renewCredentials(connector.credentials(), credentials);
      for (const node of cluster.nodes('all')) Object.assign(node.options, credentials);
    } catch (error) {
      this.failure = error as Error;
    }
  }

  private async readAgain(): Promise<void> {
    await this.renewCredentials();
    const failure = await new Promise<Error | null | undefined>((resolve) =>
      this.cluster.refreshSlotsCache(resolve),
    );
    // Set here, too, since ioredis fails without a `refresh` event if it knows no node to ask.
    this.refreshedAt = performance.now();
    // No known node replies. They may be gone for good, so start again with the nodes of the options.
    if (failure && this.cluster.status === 'ready') this.cluster.disconnect(true);
  }
}
