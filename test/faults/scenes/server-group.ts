import type { LockStore } from '../../../lib/stores/port/index.js';
import { etcdStore } from '../../../lib/stores/etcd/index.js';
import { postgresStore } from '../../../lib/stores/postgres/index.js';
import { zookeeperStore } from '../../../lib/stores/zookeeper/index.js';
import { EtcdCluster } from '../../support/etcd-cluster.js';
import { NodesOfLocks } from '../../support/nodes-of-locks.js';
import { PostgresPair } from '../../support/postgres-pair.js';
import type { TestPgClient } from '../../support/postgres-server.js';
import { ZooKeeperCluster } from '../../support/zookeeper-cluster.js';

/** Causes a fault; the returned function ends it. */
type Fault = () => Promise<() => Promise<unknown>>;

/** Servers that replicate locks, and faults that they can have. */
export interface ServerGroup {
  /** Ports for clients: one for each member, or a single one that leads to the primary. */
  readonly ports: readonly number[];
  /** Resolves when all members serve. */
  ready(): Promise<void>;
  /** Kills or stops the leader, so that another member is elected. */
  readonly loseLeader: Readonly<Record<'killed' | 'stopped', Fault>>;
  /** Stops so many members that no majority is left. */
  readonly loseMajority: Fault;
  /** Restarts a member without its data; returns a port at which clients reach it. */
  emptyMember(): Promise<number>;
  /** What the servers keep for each live process. */
  sessions(): Promise<readonly string[]>;
  /**
   * Module options of another process.
   *
   * @param isBrief the servers soon end the session of a silent process
   */
  options(ports: readonly number[], isBrief?: boolean): object;
  store(ports: readonly number[], isBrief?: boolean): LockStore;
  close(): Promise<void>;
}

const hostsOf = (ports: readonly number[]): string[] => ports.map((port) => `127.0.0.1:${String(port)}`);

interface Member {
  readonly port: number;
  kill(): Promise<unknown>;
  restart(): Promise<unknown>;
  stop(): unknown;
  resume(): unknown;
}

/** Members that need a majority. */
function agreeing(cluster: {
  readonly members: readonly Member[];
  leader(): Promise<Member>;
  ready(): Promise<void>;
  close(): Promise<void>;
}): Pick<ServerGroup, 'ports' | 'ready' | 'loseLeader' | 'loseMajority' | 'close'> {
  const back = async (bring: () => unknown): Promise<void> => {
    await bring();
    await cluster.ready();
  };
  const stop = async (members: readonly Member[]): Promise<() => Promise<void>> => {
    for (const member of members) await member.stop();
    return () =>
      back(() => {
        for (const member of members) member.resume();
      });
  };
  return {
    ports: cluster.members.map(({ port }) => port),
    ready: () => cluster.ready(),
    loseLeader: {
      async killed() {
        const leader = await cluster.leader();
        await leader.kill();
        return () => back(() => leader.restart());
      },
      stopped: async () => stop([await cluster.leader()]),
    },
    loseMajority: () => stop(cluster.members.slice(0, 2)),
    close: () => cluster.close(),
  };
}

export async function etcdGroup(): Promise<ServerGroup> {
  const cluster = await EtcdCluster.start();
  const options = (ports: readonly number[]): { hosts: string[] } => ({ hosts: hostsOf(ports) });
  return {
    ...agreeing(cluster),
    async emptyMember() {
      const leader = await cluster.leader();
      const [emptied] = cluster.members.filter((member) => member !== leader);
      if (emptied === undefined) throw new Error('there is no follower');
      await cluster.replaceEmpty(emptied);
      return emptied.port;
    },
    sessions: () => cluster.leases(),
    options: (ports) => ({ etcd: options(ports) }),
    store: (ports) => etcdStore(options(ports)),
  };
}

export async function zooKeeperGroup(): Promise<ServerGroup> {
  const cluster = await ZooKeeperCluster.start();
  const options = (
    ports: readonly number[],
    isBrief = false,
  ): { hosts: string[]; sessionTimeout?: number } => ({
    hosts: hostsOf(ports),
    ...(isBrief && { sessionTimeout: 6_000 }),
  });
  return {
    ...agreeing(cluster),
    async emptyMember() {
      const emptied = await cluster.follower();
      await emptied.restart(true);
      await cluster.ready();
      return emptied.port;
    },
    async sessions() {
      const nodes = await NodesOfLocks.open(cluster.members[0]?.port ?? 0);
      try {
        return await nodes.clients();
      } finally {
        await nodes.close();
      }
    },
    options: (ports, isBrief) => ({ zookeeper: options(ports, isBrief) }),
    store: (ports, isBrief) => zookeeperStore(options(ports, isBrief)),
  };
}

/** A primary whose commits wait for its standby. */
export async function postgresGroup(): Promise<ServerGroup> {
  const pair = await PostgresPair.start();
  const options = ([port = 0]: readonly number[]): { connection: string } => ({
    connection: pair.primary.urlOf(port),
  });
  const asked = async <T>(work: (client: TestPgClient) => Promise<T>): Promise<T> => {
    const client = await pair.primary.client();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  return {
    ports: [pair.port],
    ready: () => Promise.resolve(),
    loseLeader: {
      async killed() {
        await pair.failOver();
        return () => pair.restore();
      },
      async stopped() {
        await pair.failOver((primary) => primary.stop());
        return () => pair.restore();
      },
    },
    loseMajority: () => {
      const deliver = pair.link.hold('replies');
      return Promise.resolve(async () => {
        deliver();
        await Promise.resolve();
      });
    },
    async emptyMember() {
      await pair.emptyStandby();
      await pair.failOver();
      await pair.restore();
      return pair.port;
    },
    // PostgreSQL has no sessions of processes: the holds with unexpired leases stand in for them.
    sessions: () =>
      asked(async (client) => {
        const { rows } = await client.query(
          'SELECT owner FROM distributed_lock.holds WHERE ends > distributed_lock.clock()',
        );
        return rows.map(({ owner }) => String(owner));
      }),
    options: (ports) => ({ postgres: options(ports) }),
    store: (ports) => postgresStore(options(ports)),
    close: () => pair.close(),
  };
}

/** Every store that keeps locks when one of its servers dies, by the name of its folder. */
export const groups = { etcd: etcdGroup, postgres: postgresGroup, zookeeper: zooKeeperGroup };
