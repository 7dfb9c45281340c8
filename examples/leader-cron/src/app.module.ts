import { Controller, Get, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { LeaderElectionModule } from 'nestjs-distributed-lock/leader';
import { RemindersJob } from './reminders.job.js';

@Controller('reminders')
class RemindersController {
  constructor(private readonly job: RemindersJob) {}

  @Get()
  show(): { sent: number } {
    return { sent: this.job.sent };
  }
}

@Module({
  imports: [
    DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' }),
    LeaderElectionModule.forFeature('reminders', { watchdogTimeout: 3_000 }),
    ScheduleModule.forRoot(),
  ],
  controllers: [RemindersController],
  providers: [RemindersJob],
})
export class AppModule {}
