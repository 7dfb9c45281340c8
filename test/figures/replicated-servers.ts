import type { DistributedLockOptions } from '../../lib/index.js';
import { keySlot } from '../../lib/stores/redis/scripts/key-names.js';
import { RedisCluster } from '../support/redis-cluster.js';
import type { RedisServer } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';

type Connection = Extract<DistributedLockOptions, { redis: unknown }>['redis'];

/** Servers with failover to a replica. */
export interface ReplicatedServers {
  readonly servers: readonly RedisServer[];
  readonly redis: Connection;
  /** The number of primaries that share the keys. */
  readonly parts: number;
  /** The primary that has the key, 0 … parts − 1. */
  partOf(key: string): number;
  primaryOf(part: number): Promise<RedisServer>;
  /** Resolves when all nodes agree on the new primary. */
  promotedAfter(former: RedisServer): Promise<unknown>;
  /** Restarts a killed server as a replica in sync. */
  restart(server: RedisServer): Promise<void>;
  close(): Promise<void>;
}

export async function startSentinel(): Promise<ReplicatedServers> {
  // The same as for the nodes of the cluster.
  const group = await SentinelGroup.start({ downAfter: 1_000 });
  return {
    servers: group.servers,
    redis: { sentinels: [...group.sentinels], name: group.name },
    parts: 1,
    partOf: () => 0,
    primaryOf: () => group.primary(),
    promotedAfter: (former) => group.promotedAfter(former),
    restart: (server) => group.restart(server),
    close: () => group.close(),
  };
}

export async function startCluster(): Promise<ReplicatedServers> {
  const cluster = await RedisCluster.start();
  const parts = (await cluster.primaries()).length;
  const firstSlot = (part: number): number => part * Math.ceil(16_384 / parts);
  return {
    servers: cluster.servers,
    redis: { nodes: [...cluster.nodes] },
    parts,
    // The slots as the support class spreads them, with the default prefix of the module.
    partOf: (key) => Math.floor(keySlot(`lock:${key}`) / firstSlot(1)),
    primaryOf: (part) => cluster.primaryOf(firstSlot(part)),
    promotedAfter: (former) => cluster.promotedAfter(former),
    restart: (server) => cluster.restart(server),
    close: () => cluster.close(),
  };
}
