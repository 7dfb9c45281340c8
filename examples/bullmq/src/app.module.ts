import { BullModule, InjectQueue } from '@nestjs/bullmq';
import { Body, Controller, Get, Module, NotFoundException, Param, Post } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { InvoicesProcessor, RemindersProcessor, type Document } from './processors.js';

const redisUrl = process.env.REDIS_URL ?? 'redis://localhost:6379';

@Controller()
class DocumentsController {
  constructor(
    @InjectQueue('invoices') private readonly invoices: Queue<Document>,
    @InjectQueue('reminders') private readonly reminders: Queue<Document>,
  ) {}

  @Post('invoices')
  async addInvoice(@Body() document: Document) {
    const { id } = await this.invoices.add('send', document);
    return { id };
  }

  @Post('reminders')
  async addReminder(@Body() document: Document) {
    const { id } = await this.reminders.add('send', document);
    return { id };
  }

  @Get('invoices/:id')
  invoice(@Param('id') id: string) {
    return summaryOf(this.invoices, id);
  }

  @Get('reminders/:id')
  reminder(@Param('id') id: string) {
    return summaryOf(this.reminders, id);
  }
}

async function summaryOf(queue: Queue<Document>, id: string) {
  const state = await queue.getJobState(id);
  const job = await queue.getJob(id);
  if (job === undefined) throw new NotFoundException();
  const { attemptsMade, failedReason, returnvalue } = job;
  return { state, attemptsMade, failedReason, returnvalue };
}

@Module({
  imports: [
    DistributedLockModule.forRoot({ redis: redisUrl }),
    BullModule.forRoot({ connection: { url: redisUrl } }),
    BullModule.registerQueue(
      {
        name: 'invoices',
        // Without `attempts` a job that does not get its lock fails for good.
        defaultJobOptions: { attempts: 20, backoff: { type: 'exponential', delay: 250, jitter: 0.5 } },
      },
      { name: 'reminders' },
    ),
  ],
  controllers: [DocumentsController],
  providers: [InvoicesProcessor, RemindersProcessor],
})
export class AppModule {}
