import { Controller, Param, Post } from '@nestjs/common';
import { currentLock, DistributedLockModule, Locked } from 'nestjs-distributed-lock';

/** Locks that only save work. While their Redis is unreachable, each process locks for itself. */
export const cacheLocks = DistributedLockModule.forRoot({
  name: 'cache',
  redis: process.env.CACHE_REDIS_URL ?? process.env.REDIS_URL ?? 'redis://localhost:6379',
  onUnavailable: 'local',
});

@Controller('cache')
export class CacheController {
  @Post(':id')
  @Locked({ instance: 'cache', key: (id: string) => `cache:${id}` })
  async fill(@Param('id') id: string): Promise<{ filled: string; inThisProcessOnly: boolean }> {
    return { filled: id, inThisProcessOnly: currentLock().local };
  }
}
