import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Locked } from 'nestjs-distributed-lock';

@Injectable()
export class CleanUpJob {
  private readonly logger = new Logger(CleanUpJob.name);
  runs = 0;

  /** Every replica has this timer. One replica runs the job, the others skip it. */
  @Cron('* * * * * *') // every second, so that you can watch it
  @Locked({ key: 'clean-up', waitTime: 0, onBusy: 'skip', holdAtLeast: 500 })
  async run(): Promise<void> {
    this.runs++;
    this.logger.log('Deleted the expired sessions.');
  }
}
