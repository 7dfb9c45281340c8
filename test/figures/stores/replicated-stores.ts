import { EtcdCluster } from '../../support/etcd-cluster.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

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

/** Three members with the times that etcd comes with. */
export async function startEtcd(): Promise<ReplicatedStore> {
  const cluster = await EtcdCluster.start(['--heartbeat-interval=100', '--election-timeout=1000']);
  return {
    options: { etcd: { hosts: cluster.hosts } },
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

/** A primary whose commits wait for its standby, and an address that leads to whichever is the primary. */
export async function startPostgres(): Promise<ReplicatedStore> {
  let primary = await PostgresServer.startWithSchema();
  let standby = await followerOf(primary);
  const address = await TcpProxy.before(primary.port);
  return {
    options: { postgres: { connection: primary.urlOf(address.port) } },
    async failOver() {
      await primary.destroy();
      await standby.promote();
      address.lead(standby.port);
    },
    async restore() {
      await primary.close();
      primary = standby;
      standby = await followerOf(primary);
    },
    async close() {
      await address.close();
      await Promise.all([primary, standby].map((server) => server.close()));
    },
  };
}

/** A standby without which nothing is committed from now on. */
async function followerOf(primary: PostgresServer): Promise<PostgresServer> {
  const standby = await PostgresServer.standbyOf(primary.port);
  const client = await primary.client();
  await client.query("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'");
  await client.query('SELECT pg_reload_conf()');
  await until(
    'commits wait for it',
    async () => {
      const { rows } = await client.query('SELECT state, sync_state FROM pg_stat_replication');
      return rows[0]?.['state'] === 'streaming' && rows[0]['sync_state'] === 'quorum';
    },
    { deadline: 60_000 },
  );
  await client.end();
  return standby;
}
