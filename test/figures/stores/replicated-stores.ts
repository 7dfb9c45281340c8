import { EtcdCluster } from '../../support/etcd-cluster.js';
import { PostgresPair } from '../../support/postgres-pair.js';
import { ZooKeeperCluster } from '../../support/zookeeper-cluster.js';

/** Servers that keep locks when one of them dies. */
export interface ReplicatedStore {
  /** What a process makes its module of. */
  readonly options: object;
  /** Kills the one that decides, and has another take its place. */
  failOver(): Promise<void>;
  /** Makes it ready for the next time. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Members of which another one leads when the leader dies. */
function electing(cluster: EtcdCluster | ZooKeeperCluster, options: object): ReplicatedStore {
  return {
    options,
    async failOver() {
      const leader = await cluster.leader();
      await leader.kill();
    },
    async restore() {
      for (const member of cluster.members) if (member.hasEnded) await member.restart();
      await cluster.ready();
    },
    close: () => cluster.close(),
  };
}

/** Three members with the times that etcd comes with. */
export async function startEtcd(): Promise<ReplicatedStore> {
  const cluster = await EtcdCluster.start(['--heartbeat-interval=100', '--election-timeout=1000']);
  return electing(cluster, { etcd: { hosts: cluster.hosts } });
}

/** Three members that find out about each other soon. */
export async function startZooKeeper(): Promise<ReplicatedStore> {
  const cluster = await ZooKeeperCluster.start();
  return electing(cluster, { zookeeper: { hosts: cluster.hosts } });
}

/** A primary whose commits wait for its standby, and an address that leads to whichever is the primary. */
export async function startPostgres(): Promise<ReplicatedStore> {
  const pair = await PostgresPair.start();
  return {
    options: { postgres: { connection: pair.url } },
    failOver: () => pair.failOver(),
    restore: () => pair.restore(),
    close: () => pair.close(),
  };
}
