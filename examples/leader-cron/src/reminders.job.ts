import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { InjectLeaderElection, LeaderElection } from 'nestjs-distributed-lock/leader';

@Injectable()
export class RemindersJob {
  private readonly logger = new Logger(RemindersJob.name);
  sent = 0;

  constructor(@InjectLeaderElection('reminders') private readonly election: LeaderElection) {}

  /** Every process has this timer; only the leader does the work. */
  @Cron('* * * * * *')
  async run(): Promise<void> {
    const { leadership } = this.election;
    if (leadership === undefined) return;
    this.sent++;
    this.logger.log(`Sent the reminders, with token ${leadership.token}.`);
  }
}
