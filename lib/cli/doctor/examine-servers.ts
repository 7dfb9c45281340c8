import type { DistributedLockOptions } from '../../nest/module/distributed-lock.options.js';
import { examineRedis, type ServerReport } from '../../stores/redis/doctor/examine-redis.js';

/** Every Redis server that these locks are kept on; none where they are kept elsewhere. */
export async function examineServers(options: DistributedLockOptions): Promise<readonly ServerReport[]> {
  const { keyPrefix = 'lock:' } = options;
  if ('redis' in options) return await examineRedis(options.redis, keyPrefix, options.replicas?.min ?? 0);
  if (!('quorum' in options)) return [];
  const reports = await Promise.all(options.quorum.map((member) => examineRedis(member, keyPrefix, 0)));
  return reports.flat();
}
