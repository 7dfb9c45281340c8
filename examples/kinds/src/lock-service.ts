import { setTimeout } from 'node:timers/promises';
import { Controller, Param, Post } from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';

@Controller('reports')
export class ReportsController {
  constructor(private readonly locks: LockService) {}

  /** Waits for the lock, and releases it when the function has ended. */
  @Post(':id')
  async write(@Param('id') id: string): Promise<{ written: string }> {
    return await this.locks.withLock(`report:${id}`, { waitTime: 3_000 }, async (lock) => {
      await setTimeout(20);
      lock.assertHeld(); // Throws if the lock was lost in the meantime.
      return { written: id };
    });
  }

  /** Acquires the lock only if it is free. */
  @Post(':id/refreshes')
  async refresh(@Param('id') id: string): Promise<{ refreshed: boolean }> {
    await using lock = await this.locks.tryAcquire(`report:${id}`);
    if (lock === null) return { refreshed: false };
    await setTimeout(20);
    return { refreshed: true };
  } // `await using` releases the lock here, also after an error.
}
