import { Cluster } from 'ioredis';
import { keySlot } from '../../lib/stores/redis/scripts/key-names.js';
import { clusterViewOf, type ClusterView } from './cluster-view.js';
import { RedisServer, type RedisSettings } from './redis-server.js';
import { ControlClients, cutReplication, fieldsOf } from './replication.js';
import type { Address } from './sentinel-group.js';
import { SlotMigration } from './slot-migration.js';
import { until } from './until.js';

export interface RedisClusterOptions {
  /** Default 3, which is also the least that can hold an election. */
  readonly primaries?: number;
  /** Default 1. */
  readonly replicasEach?: number;
  /** The wall clock of every node can be set, as for {@link RedisServer.start}. */
  readonly clock?: boolean;
  /** For every node, as for {@link RedisServer.start}. */
  readonly settings?: RedisSettings;
  /** Milliseconds without an answer until a node is taken for dead. Default 1 000. */
  readonly nodeTimeout?: number;
}

const SLOTS = 16_384;

/** A Redis Cluster of real servers: slots spread evenly, replicas in sync, failover and resharding as in production. */
export class RedisCluster {
  private readonly control = new ControlClients();
  private readonly clients = new Set<Cluster>();

  private constructor(
    /** Of each part of the slots the first primary and its replicas, whatever their roles are now. */
    private readonly groups: readonly (readonly RedisServer[])[],
  ) {}

  /** Resolves when every node sees the whole cluster well; nodes of Redis refuse to serve for their first 2 s. */
  static async start(options: RedisClusterOptions = {}): Promise<RedisCluster> {
    const { primaries = 3, replicasEach = 1, nodeTimeout = 1_000 } = options;
    const settings: RedisSettings = {
      'cluster-enabled': 'yes',
      'cluster-config-file': 'nodes.conf',
      'cluster-node-timeout': String(nodeTimeout),
      'cluster-allow-replica-migration': 'no',
      // A replica may be promoted however long it has not heard from its primary.
      'cluster-replica-validity-factor': '0',
      'repl-diskless-sync': 'yes',
      'repl-diskless-sync-delay': '0',
      ...options.settings,
    };
    const size = 1 + replicasEach;
    const servers = await RedisServer.startAll(primaries * size, { settings, clock: options.clock ?? false });
    const groups = Array.from({ length: primaries }, (_, index) =>
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

  /** Where clients may begin; they find the others by themselves. */
  get nodes(): readonly Address[] {
    return this.servers.map(({ host, port }) => ({ host, port }));
  }

  /** A client for the test; closed together with the cluster. */
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

  /** The server that serves a key or slot now; after a death the dead one until another is promoted. */
  async primaryOf(keyOrSlot: string | number): Promise<RedisServer> {
    const slot = slotOf(keyOrSlot);
    return until(`some node knows who serves slot ${slot}`, async () => {
      const owners = (await this.views()).flatMap((view) =>
        view.nodes.filter((node) => node.slots.has(slot)),
      );
      // Who has the slot for newer reasons is right.
      const [owner] = owners.sort((one, other) => other.epoch - one.epoch);
      return this.servers.find((server) => server.port === owner?.port);
    });
  }

  /** A server that answers and has the data of that primary. */
  async replicaOf(keyOrSlot: string | number): Promise<RedisServer> {
    const replica = (await this.replicasOf(keyOrSlot)).find((server) => server.isAnswering);
    if (!replica) throw new Error(`no replica of ${keyOrSlot} is left`);
    return replica;
  }

  /** The servers that have slots, in the order of the start. */
  async primaries(): Promise<readonly RedisServer[]> {
    return Promise.all(this.groups.map((group) => this.leaderOf(group)));
  }

  /** Moves a slot and all of its keys. */
  async migrateSlot(slot: number, to: RedisServer): Promise<void> {
    const migration = await this.beginMigration(slot, to);
    await migration.moveKeys();
    await migration.finish();
  }

  /** Leaves the slot between two servers: the old one sends clients on (ASK) for keys that it does not have. */
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
        await until(`all nodes know who serves slot ${slot}`, () =>
          this.everyView((view) => view.nodes.some((node) => node.port === to.port && node.slots.has(slot))),
        );
      },
    });
  }

  /** Promotes a replica though its primary lives, without loss. */
  async failover(replica: RedisServer): Promise<void> {
    // Refused while the replica has not yet heard of its primary, and given up without a word by one that has not got
    // its way within 5 s: so it is asked again and again.
    await until(
      'the replica is promoted',
      async () => {
        await this.control
          .of(replica)
          .call('CLUSTER', 'FAILOVER')
          .catch(() => undefined);
        return (await this.control.info(replica, 'replication'))['role'] === 'master';
      },
      { deadline: 30_000, every: 250 },
    );
    await this.untilLeads([replica]);
  }

  /** SIGKILL; the killed server. {@link promotedAfter} waits for its successor. */
  async killPrimaryOf(keyOrSlot: string | number): Promise<RedisServer> {
    const primary = await this.primaryOf(keyOrSlot);
    await primary.kill();
    return primary;
  }

  /** The replica of `former` that has its slots in the eyes of all nodes that answer. */
  async promotedAfter(former: RedisServer): Promise<RedisServer> {
    return this.untilLeads(this.groupOf(former).filter((server) => server !== former));
  }

  /**
   * Stops the replicas of that primary so that they miss what it is told from now on. To lose it for good: kill the
   * primary, then resume the replicas, which are the answer.
   */
  async cutReplicationOf(keyOrSlot: string | number): Promise<readonly RedisServer[]> {
    const primary = await this.primaryOf(keyOrSlot);
    const replicas = await this.replicasOf(keyOrSlot);
    await cutReplication(this.control.of(primary), primary, replicas);
    return replicas;
  }

  /** Brings a killed server back, empty; as a replica in sync if another has been promoted meanwhile. */
  async restart(server: RedisServer): Promise<void> {
    await server.restart();
    await this.settled();
  }

  /** Until every node that answers finds the cluster well and its replica in sync. */
  async settled(): Promise<void> {
    await until(
      'the cluster is well',
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
        await client.call('CLUSTER', 'ADDSLOTSRANGE', first, last);
        // Different ones from the start: otherwise the nodes settle it among themselves, one after the other.
        await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      }),
    );
    // Each with each, so that nobody has to wait for gossip.
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

  /** How the nodes that answer see the cluster. */
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

  /** The one of the group that has slots in the newest view. */
  private async leaderOf(group: readonly RedisServer[]): Promise<RedisServer> {
    const ports = group.map((server) => server.port);
    return until('one of the group has slots', async () => {
      const nodes = (await this.views()).flatMap((view) => view.nodes);
      const leaders = nodes.filter((node) => ports.includes(node.port) && node.slots.size > 0);
      const [leader] = leaders.sort((one, other) => other.epoch - one.epoch);
      return group.find((server) => server.port === leader?.port);
    });
  }

  /** Until every node that answers sees one of these as a primary with slots, and the cluster well. */
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
