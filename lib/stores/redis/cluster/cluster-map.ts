import type { Cluster } from 'ioredis';
import type { ClusterConnector } from './cluster-connector.js';
import { pauseBeforeConnecting } from '../../port/times.js';
import { ownSettings } from '../connection/own-settings.js';
import type { ServerConnector } from '../connection/redis-connection.js';
import { withConnectTimeout } from '../connection/connect-timeout.js';
import { withGuardedSockets } from '../connection/guarded-sockets.js';
import { withReplyTimeout } from '../connection/reply-timeout.js';

/** The map is not asked for anew sooner than this after the last time, ms. */
const MIN_REFRESH_INTERVAL = 100;

/** A server of the cluster that has slots. */
export interface ClusterServer {
  /** `host:port`. */
  readonly address: string;
  /** The lowest slot that it has. */
  readonly slot: number;
  readonly connector: ServerConnector;
}

/** Which server of a cluster has which slots, as ioredis finds it out. */
export class ClusterMap {
  /** Why the cluster could not be asked last. */
  failure: Error | undefined;

  private readonly cluster: Cluster;
  private pendingRefresh: Promise<void> | undefined;
  private refreshedAt = -Infinity;
  private refreshTimer: NodeJS.Timeout | undefined;
  private closed = false;
  /** How often in a row the cluster was looked for in vain. */
  private attempts = 0;

  /** @param onChange the map was read anew */
  constructor(
    private readonly connector: ClusterConnector,
    requestTimeout: number,
    onChange: () => void,
  ) {
    this.cluster = connector.open(requestTimeout, () => {
      this.attempts += 1;
      return pauseBeforeConnecting(this.attempts);
    });
    this.cluster.on('error', (error: Error & { lastNodeError?: Error }) => {
      this.failure = error.lastNodeError ?? error;
    });
    this.cluster.on('node error', (error: Error) => {
      this.failure = error;
    });
    this.cluster.on('refresh', () => {
      this.failure = undefined;
      this.refreshedAt = performance.now();
      // A map without servers is as good as none.
      if (this.cluster.slots.some((addresses) => addresses.length > 0)) this.attempts = 0;
      onChange();
    });
  }

  /** Rejects if the cluster is not there; ioredis keeps trying. */
  async connect(): Promise<void> {
    await this.cluster.connect();
  }

  /** `host:port` of the server that has the slot. */
  addressOf(slot: number): string | undefined {
    return this.cluster.slots[slot]?.[0];
  }

  /** `host:port` under which this process reaches a server, by the one that the cluster says. */
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
    const found: ClusterServer[] = [];
    for (const node of this.cluster.nodes('all')) {
      const { host = 'localhost', port = 6379 } = node.options;
      const address = `${host}:${String(port)}`;
      const slot = lowest.get(address);
      if (slot !== undefined) found.push({ address, slot, connector: this.serverConnector(address, node) });
    }
    return found;
  }

  /** Reads the map anew. Never rejects: the old one stays if nobody can be asked. */
  refresh(): Promise<void> {
    this.pendingRefresh ??= this.readAnew().finally(() => {
      this.pendingRefresh = undefined;
    });
    return this.pendingRefresh;
  }

  /** Reads the map anew soon, however often it is called. */
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
    this.cluster.disconnect();
  }

  /** ioredis may answer at once, when it knows no node that could be asked. */
  private async readAnew(): Promise<void> {
    const failure = await new Promise<Error | null | undefined>((resolve) => {
      this.cluster.refreshSlotsCache(resolve);
    });
    this.refreshedAt = performance.now();
    // None of the nodes that were found answers: they may have gone for good, so begin anew with those of the options.
    if (failure && this.cluster.status === 'ready') this.cluster.disconnect(true);
  }

  private serverConnector(address: string, node: ReturnType<Cluster['nodes']>[number]): ServerConnector {
    return {
      kind: 'server',
      address,
      keyPrefix: '',
      user: this.connector.user,
      database: 0,
      connect: (requestTimeout) =>
        withGuardedSockets(
          withConnectTimeout(withReplyTimeout(node.duplicate(ownSettings(node.options, requestTimeout)))),
        ),
    };
  }
}
