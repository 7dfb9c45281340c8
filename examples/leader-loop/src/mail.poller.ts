import { setTimeout } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { OnElected, type Leadership } from 'nestjs-distributed-lock/leader';

@Injectable()
export class MailPoller {
  private readonly logger = new Logger(MailPoller.name);
  polls = 0;

  /** Runs in one of the processes, for as long as it leads. */
  @OnElected('mail-poller')
  async lead({ signal, token }: Leadership): Promise<void> {
    this.logger.log(`This process polls the mailbox, with token ${token}.`);
    while (!signal.aborted) {
      this.polls++;
      // Ends early when the leadership does.
      await setTimeout(200, undefined, { signal }).catch(() => undefined);
    }
    this.logger.log('This process polls no more.');
  }
}
