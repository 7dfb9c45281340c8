import { Controller, Get, Module } from '@nestjs/common';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { InjectLeaderElection, LeaderElection, LeaderElectionModule } from 'nestjs-distributed-lock/leader';
import { MailPoller } from './mail.poller.js';

@Controller('leader')
class LeaderController {
  constructor(
    @InjectLeaderElection('mail-poller') private readonly election: LeaderElection,
    private readonly poller: MailPoller,
  ) {}

  @Get()
  show(): { isLeader: boolean; polls: number } {
    return { isLeader: this.election.isLeader, polls: this.poller.polls };
  }
}

@Module({
  imports: [
    DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' }),
    LeaderElectionModule.forFeature('mail-poller', { watchdogTimeout: 3_000 }),
  ],
  controllers: [LeaderController],
  providers: [MailPoller],
})
export class AppModule {}
