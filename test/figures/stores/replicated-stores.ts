import { EtcdCluster } from '../../support/etcd-cluster.js';
import { PostgresPair } from '../../support/postgres-pair.js';
import { ZooKeeperCluster } from '../../support/zookeeper-cluster.js';

/** A store that keeps locks when one of its servers dies. */
export interface ReplicatedStore {
  /** Store options for worker-options.mjs. */
  readonly options: object;
  /** Kills the leader or primary, so that another server replaces it. */
  failOver(): Promise<void>;
  /** Restarts the dead server. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Members that elect another leader when the leader dies. */
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

/** Three members with etcd's default timing. */
export async function startEtcd(): Promise<ReplicatedStore> {
  const cluster = await EtcdCluster.start(['--heartbeat-interval=100', '--election-timeout=1000']);
  return electing(cluster, { etcd: { hosts: cluster.hosts } });
}

/** Three members that detect failures fast. */
export async function startZooKeeper(): Promise<ReplicatedStore> {
  const cluster = await ZooKeeperCluster.start();
  return electing(cluster, { zookeeper: { hosts: cluster.hosts } });
}

/** A primary whose commits wait for its standby, with a stable address that leads to the current primary. */
export async function startPostgres(): Promise<ReplicatedStore> {
  const pair = await PostgresPair.start();
  return {
    options: { postgres: { connection: pair.url } },
    failOver: () => pair.failOver(),
    restore: () => pair.restore(),
    close: () => pair.close(),
  };
}
