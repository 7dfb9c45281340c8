import { registerAs } from '@nestjs/config';
import type { DistributedLockOptions } from 'nestjs-distributed-lock';

/** The options of the locks, from the environment. */
export const locksConfig = registerAs('locks', (): DistributedLockOptions => ({
  redis: process.env.REDIS_URL ?? 'redis://localhost:6379',
  waitTime: Number(process.env.LOCK_WAIT_TIME ?? 5_000),
}));
