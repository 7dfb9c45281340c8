import { setTimeout } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { OnElected, type Leadership } from 'nestjs-distributed-lock/leader';

@Injectable()
export class MailPoller {
  private readonly logger = new Logger(MailPoller.name);
  polls = 0;

  /** Runs in the leader only, as long as it leads. */
  @OnElected('mail-poller')
  async lead({ signal, token }: Leadership): Promise<void> {
    this.logger.log(`This process polls the mailbox, with token ${token}.`);
    while (!signal.aborted) {
      this.polls++;
      // Ends early when the leadership ends.
      await setTimeout(200, undefined, { signal }).catch(() => undefined);
    }
    this.logger.log('This process has stopped polling.');
  }
}
