import type { DistributedLockOptions } from '../../lib/index.js';
import { keySlot } from '../../lib/stores/redis/scripts/key-names.js';
import { RedisCluster } from '../support/redis-cluster.js';
import type { RedisServer } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';

type Connection = Extract<DistributedLockOptions, { redis: unknown }>['redis'];

/** Servers among whom a replica takes over from a primary that dies. */
export interface ReplicatedServers {
  readonly servers: readonly RedisServer[];
  readonly redis: Connection;
  /** How many primaries share the keys. */
  readonly parts: number;
  /** Which of them has the key, 0 … parts − 1. */
  partOf(key: string): number;
  primaryOf(part: number): Promise<RedisServer>;
  /** Resolves when all agree on who has taken over. */
  promotedAfter(former: RedisServer): Promise<unknown>;
  /** Brings a killed server back as a replica in sync. */
  restart(server: RedisServer): Promise<void>;
  close(): Promise<void>;
}

export async function startSentinel(): Promise<ReplicatedServers> {
  // As the nodes of the cluster.
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
    // As the support class spreads them, under the default prefix of the module.
    partOf: (key) => Math.floor(keySlot(`lock:${key}`) / firstSlot(1)),
    primaryOf: (part) => cluster.primaryOf(firstSlot(part)),
    promotedAfter: (former) => cluster.promotedAfter(former),
    restart: (server) => cluster.restart(server),
    close: () => cluster.close(),
  };
}
