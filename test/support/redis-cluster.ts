import { Cluster, type Redis } from 'ioredis';
import { keySlot } from '../../lib/stores/redis/scripts/key-names.js';
import { clusterViewOf, type ClusterView } from './cluster-view.js';
import { RedisServer, type RedisSettings } from './redis-server.js';
import { ControlClients, cutReplication, fieldsOf } from './replication.js';
import type { Address } from './sentinel-group.js';
import { SlotMigration } from './slot-migration.js';
import { until } from './until.js';

export interface RedisClusterOptions {
  /** Default 1. */
  readonly replicasEach?: number;
  /** Makes the wall clocks of all nodes adjustable, see {@link RedisServer.start}. */
  readonly clock?: boolean;
  /** Settings of every node, see {@link RedisServer.start}. */
  readonly settings?: RedisSettings;
}

const SLOTS = 16_384;
/** The minimum for an election. */
const PRIMARIES = 3;

/** `ADDSLOTSRANGE` for Redis before 7, too. */
export async function addSlots(node: Redis, first = 0, last = SLOTS - 1): Promise<void> {
  const slots = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  await node.call('CLUSTER', 'ADDSLOTS', ...slots);
}

/** A Redis Cluster of real servers: slots are spread evenly, replicas in sync, failover and resharding as in production. */
export class RedisCluster {
  private readonly control = new ControlClients();
  private readonly clients = new Set<Cluster>();

  private constructor(
    /** For each part of the slots, the first primary and its replicas, whatever their current roles. */
    private readonly groups: readonly (readonly RedisServer[])[],
  ) {}

  /** Resolves when every node sees a healthy cluster; Redis nodes refuse to serve for their first 2 s. */
  static async start(options: RedisClusterOptions = {}): Promise<RedisCluster> {
    const { replicasEach = 1 } = options;
    const settings: RedisSettings = {
      'cluster-enabled': 'yes',
      'cluster-config-file': 'nodes.conf',
      // How long a node may be silent before it is considered down, ms.
      'cluster-node-timeout': '1000',
      'cluster-allow-replica-migration': 'no',
      // A replica may be promoted no matter how long it has been disconnected from its primary.
      'cluster-replica-validity-factor': '0',
      'repl-diskless-sync': 'yes',
      'repl-diskless-sync-delay': '0',
      ...options.settings,
    };
    const size = 1 + replicasEach;
    const servers = await RedisServer.startAll(PRIMARIES * size, { settings, clock: options.clock ?? false });
    const groups = Array.from({ length: PRIMARIES }, (_, index) =>
      servers.slice(index * size, (index + 1) * size),
    );
    const cluster = new RedisCluster(groups);
    try {
      await cluster.form();
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  get servers(): readonly RedisServer[] {
    return this.groups.flat();
  }

  /** The seed nodes for clients. */
  get nodes(): readonly Address[] {
    return this.servers.map(({ host, port }) => ({ host, port }));
  }

  /** A client for the test; closed with the cluster. */
  client(): Cluster {
    const client = new Cluster([...this.nodes], {
      clusterRetryStrategy: () => 20,
      slotsRefreshInterval: 1_000,
      retryDelayOnFailover: 50,
      retryDelayOnClusterDown: 50,
      retryDelayOnTryAgain: 20,
    });
    client.on('error', () => undefined);
    this.clients.add(client);
    return client;
  }

  /** The server that currently serves a key or slot; after a crash, the dead one until another is promoted. */
  async primaryOf(keyOrSlot: string | number): Promise<RedisServer> {
    const slot = slotOf(keyOrSlot);
    return until(`some node knows the owner of slot ${slot}`, async () => {
      const owners = (await this.views()).flatMap((view) =>
        view.nodes.filter((node) => node.slots.has(slot)),
      );
      // The view with the higher epoch is right.
      const [owner] = owners.sort((one, other) => other.epoch - one.epoch);
      return this.servers.find((server) => server.port === owner?.port);
    });
  }

  /** The servers with slots, in the order of their start. */
  async primaries(): Promise<readonly RedisServer[]> {
    return Promise.all(this.groups.map((group) => this.leaderOf(group)));
  }

  /** Moves a slot with all its keys. */
  async migrateSlot(slot: number, to: RedisServer): Promise<void> {
    const migration = await this.beginMigration(slot, to);
    await migration.moveKeys();
    await migration.finish();
  }

  /** Leaves the slot between two servers: the old one redirects clients (ASK) for keys that it does not have. */
  async beginMigration(slot: number, to: RedisServer): Promise<SlotMigration> {
    const from = await this.primaryOf(slot);
    return SlotMigration.begin(slot, from, to, {
      clientOf: (server) => this.control.of(server),
      idOf: (server) => this.idOf(server),
      settle: async () => {
        for (const primary of await this.primaries()) {
          if (primary === from || primary === to || !primary.isAnswering) continue;
          await this.control.of(primary).call('CLUSTER', 'SETSLOT', slot, 'NODE', await this.idOf(to));
        }
        await until(`all nodes know the owner of slot ${slot}`, () =>
          this.everyView((view) => view.nodes.some((node) => node.port === to.port && node.slots.has(slot))),
        );
      },
    });
  }

  /** SIGKILL; returns the killed server. {@link promotedAfter} waits for its successor. */
  async killPrimaryOf(keyOrSlot: string | number): Promise<RedisServer> {
    const primary = await this.primaryOf(keyOrSlot);
    await primary.kill();
    return primary;
  }

  /** The replica of `former` that has its slots in the view of all live nodes. */
  async promotedAfter(former: RedisServer): Promise<RedisServer> {
    return this.untilLeads(this.groupOf(former).filter((server) => server !== former));
  }

  /**
   * Stops the replicas of a primary, so that they miss its later writes. To lose the writes for good: kill the primary,
   * then resume the returned replicas.
   */
  async cutReplicationOf(keyOrSlot: string | number): Promise<readonly RedisServer[]> {
    const primary = await this.primaryOf(keyOrSlot);
    const replicas = await this.replicasOf(keyOrSlot);
    await cutReplication(this.control.of(primary), primary, replicas);
    return replicas;
  }

  /** Restarts a killed server empty; as a replica in sync if another one has been promoted meanwhile. */
  async restart(server: RedisServer): Promise<void> {
    await server.restart();
    await this.settled();
  }

  /** Waits until every live node sees a healthy cluster and its replica is in sync. */
  async settled(): Promise<void> {
    await until(
      'the cluster is healthy',
      async () => (await Promise.all(this.answering().map((server) => this.isWell(server)))).every(Boolean),
      {
        deadline: 20_000,
      },
    );
  }

  async flush(): Promise<void> {
    for (const primary of await this.primaries()) await this.control.of(primary).flushall();
  }

  /** All keys of all primaries, sorted. */
  async keys(): Promise<string[]> {
    const found = (await this.primaries()).map((primary) => this.control.of(primary).keys('*'));
    return (await Promise.all(found)).flat().sort();
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.disconnect();
    this.clients.clear();
    await Promise.all(this.servers.map((server) => server.close()));
  }

  private async form(): Promise<void> {
    const share = Math.ceil(SLOTS / this.groups.length);
    await Promise.all(
      this.groups.map(async ([primary], index) => {
        const client = this.control.of(primary!);
        const [first, last] = [index * share, Math.min(SLOTS, (index + 1) * share) - 1];
        await addSlots(client, first, last);
        // Different epochs from the start: otherwise the nodes resolve the conflict one after the other.
        await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      }),
    );
    // Each node meets all others, to avoid waiting for gossip.
    for (const [index, server] of this.servers.entries()) {
      for (const other of this.servers.slice(index + 1)) {
        await this.control.of(server).call('CLUSTER', 'MEET', other.host, other.port, other.busPort);
      }
    }
    const everybody = this.servers.length;
    await until('all nodes have met', () =>
      this.everyView(({ nodes }) => nodes.length === everybody && nodes.every((node) => !node.inHandshake)),
    );
    for (const [primary, ...replicas] of this.groups) {
      const id = await this.idOf(primary!);
      await Promise.all(replicas.map((replica) => this.control.of(replica).call('CLUSTER', 'REPLICATE', id)));
    }
    await this.settled();
    await until('all nodes know all replicas', () =>
      this.everyView(
        ({ nodes }) => nodes.filter((node) => !node.isPrimary).length === everybody - this.groups.length,
      ),
    );
  }

  private answering(): readonly RedisServer[] {
    return this.servers.filter((server) => server.isAnswering);
  }

  /** The cluster in the view of each live node. */
  private async views(): Promise<readonly ClusterView[]> {
    const views = this.answering().map(async (server) => {
      const text = await this.control
        .of(server)
        .cluster('NODES')
        .catch(() => '');
      return clusterViewOf(text as string);
    });
    return Promise.all(views);
  }

  private async everyView(fits: (view: ClusterView) => boolean): Promise<boolean> {
    return (await this.views()).every(fits);
  }

  private async isWell(server: RedisServer): Promise<boolean> {
    const client = this.control.of(server);
    const text = await client.cluster('INFO').catch(() => '');
    if (fieldsOf(text)['cluster_state'] !== 'ok') return false;
    const { role, master_link_status: link } = await this.control.info(server, 'replication');
    return role === 'master' || link === 'up';
  }

  private async idOf(server: RedisServer): Promise<string> {
    return String(await this.control.of(server).call('CLUSTER', 'MYID'));
  }

  private groupOf(server: RedisServer): readonly RedisServer[] {
    return this.groups.find((group) => group.includes(server)) ?? [];
  }

  private async replicasOf(keyOrSlot: string | number): Promise<readonly RedisServer[]> {
    const primary = await this.primaryOf(keyOrSlot);
    return this.groupOf(primary).filter((server) => server !== primary);
  }

  /** The member of the group that has slots in the newest view. */
  private async leaderOf(group: readonly RedisServer[]): Promise<RedisServer> {
    const ports = group.map((server) => server.port);
    return until('a member of the group has slots', async () => {
      const nodes = (await this.views()).flatMap((view) => view.nodes);
      const leaders = nodes.filter((node) => ports.includes(node.port) && node.slots.size > 0);
      const [leader] = leaders.sort((one, other) => other.epoch - one.epoch);
      return group.find((server) => server.port === leader?.port);
    });
  }

  /** Waits until every live node sees one of these as a primary with slots, in a healthy cluster. */
  private async untilLeads(candidates: readonly RedisServer[]): Promise<RedisServer> {
    const leader = await until(
      'a replica has been promoted',
      async () => {
        const views = await this.views();
        return candidates.find(({ port }) =>
          views.every((view) =>
            view.nodes.some((node) => node.port === port && node.isPrimary && node.slots.size > 0),
          ),
        );
      },
      { deadline: 20_000 },
    );
    await this.settled();
    return leader;
  }
}

function slotOf(keyOrSlot: string | number): number {
  return typeof keyOrSlot === 'number' ? keyOrSlot : keySlot(keyOrSlot);
}
