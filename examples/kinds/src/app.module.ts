import { Controller, Get, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { LockMetricsController } from './events.js';
import { AccountsController } from './exclusive.js';
import { TicketsController } from './fair.js';
import { ExportsController } from './handlers.js';
import { LocksController } from './inspecting.js';
import { ReportsController } from './lock-service.js';
import { CartsController } from './re-entrant.js';
import { PriceListsController } from './read-write.js';
import { CleanUpJob } from './scheduled-jobs.js';
import { LabelsController } from './semaphore.js';
import { TransfersController } from './several-keys.js';
import { CacheController, cacheLocks } from './store-unavailable.js';

@Controller('clean-ups')
class CleanUpsController {
  constructor(private readonly job: CleanUpJob) {}

  @Get()
  show(): { runs: number } {
    return { runs: this.job.runs };
  }
}

@Module({
  imports: [
    DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' }),
    cacheLocks,
    ScheduleModule.forRoot(),
  ],
  controllers: [
    AccountsController,
    CacheController,
    CartsController,
    CleanUpsController,
    ExportsController,
    LabelsController,
    LockMetricsController,
    LocksController,
    PriceListsController,
    ReportsController,
    TicketsController,
    TransfersController,
  ],
  providers: [CleanUpJob],
})
export class AppModule {}
