import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import { NotFoundException } from '@nestjs/common';
import { QueueEvents, type Job, type Queue } from 'bullmq';
import { describe, expect } from '@jest/globals';
import { DistributedLockModule, Locked, LockTimeoutError } from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { HttpApp } from '../nest/http-app.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { clientOf, transportRules, type Client } from './transport.rules.js';

const soldOut = new NotFoundException('sold out');

@Processor('take', { concurrency: 10 })
class Take extends WorkerHost {
  constructor(private readonly stock: Stock) {
    super();
  }

  @Locked({ key: (job: Job<string>) => (job.name === 'order' ? KEY : 'another'), waitTime: 15_000 })
  async process(job: Job<string>): Promise<Receipt> {
    return this.stock.take(job.data);
  }
}

@Processor('hurry')
class Hurry extends WorkerHost {
  constructor(private readonly stock: Stock) {
    super();
  }

  @Locked({ key: KEY, waitTime: 0 })
  async process(job: Job<string>): Promise<Receipt> {
    return this.stock.take(job.data);
  }
}

@Processor('fail')
class Fail extends WorkerHost {
  @Locked(KEY)
  async process(): Promise<never> {
    return Promise.reject(soldOut);
  }
}

const QUEUES = { take: Take, hurry: Hurry, fail: Fail } as const;
type QueueName = keyof typeof QUEUES;

describe('@Locked on queue processors', () => {
  const scene = new RedisScene();
  const start = async (): Promise<Client> => {
    const connection = { host: scene.server.host, port: scene.server.port };
    const names = Object.keys(QUEUES) as QueueName[];
    const app = await HttpApp.start({
      imports: [
        DistributedLockModule.forRoot({ redis: scene.url }),
        StockModule,
        BullModule.forRoot({ connection }),
        BullModule.registerQueue(...names.map((name) => ({ name }))),
      ],
      providers: Object.values(QUEUES),
    });
    const finished = new Map(names.map((name) => [name, new QueueEvents(name, { connection })]));
    await Promise.all([...finished.values()].map((events) => events.waitUntilReady()));

    /** The result of a job, or its errors in the worker and in the queue. */
    const run = async (name: QueueName, buyer: string): Promise<unknown> => {
      const failure = new Promise<Error>((resolve) => {
        app.nest.get<WorkerHost>(QUEUES[name]).worker.once('failed', (_, error) => resolve(error));
      });
      const job = await app.nest.get<Queue>(getQueueToken(name)).add('order', buyer);
      try {
        return await job.waitUntilFinished(finished.get(name)!);
      } catch (error) {
        return { worker: await failure, queue: (error as Error).message };
      }
    };
    return {
      ...clientOf(app),
      take: async (buyer) => (await run('take', buyer)) as Receipt,
      call: run,
      close: async () => {
        await app.close();
        await Promise.all([...finished.values()].map((events) => events.close()));
      },
    };
  };

  transportRules(start, {
    sold: { buyer: 'bob', left: 9, locked: true },
    busy: {
      worker: expect.any(LockTimeoutError),
      queue: expect.stringContaining(`"${KEY}" is held by this process`),
    },
    failed: { worker: soldOut, queue: 'sold out' },
  });
});
