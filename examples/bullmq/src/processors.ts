import { setTimeout as delay } from 'node:timers/promises';
import { Processor, WorkerHost } from '@nestjs/bullmq';
import { DelayedError, type Job } from 'bullmq';
import { Locked } from 'nestjs-distributed-lock';

export interface Document {
  readonly customer: string;
}

/** The accounting system accepts one document of a customer at a time, from all processes. */
async function sendToAccounting(_document: Document) {
  const startedAt = Date.now();
  await delay(50);
  return { startedAt, endedAt: Date.now() };
}

const keyOf = ({ data }: Job<Document>) => `customer:${data.customer}`;

/** A job whose customer is busy fails with `LockTimeoutError`, and BullMQ retries it up to `attempts` times. */
@Processor('invoices', { concurrency: 10 })
export class InvoicesProcessor extends WorkerHost {
  @Locked({ key: keyOf, waitTime: 200 })
  async process(job: Job<Document>) {
    return await sendToAccounting(job.data);
  }
}

/** A job whose customer is busy goes back to the queue. That does not count as an attempt. */
@Processor('reminders', { concurrency: 10 })
export class RemindersProcessor extends WorkerHost {
  @Locked({
    key: keyOf,
    waitTime: 200,
    onBusy: async (job: Job<Document>, token?: string): Promise<never> => {
      await job.moveToDelayed(Date.now() + 500, token);
      throw new DelayedError();
    },
  })
  async process(job: Job<Document>, _token?: string) {
    return await sendToAccounting(job.data);
  }
}
