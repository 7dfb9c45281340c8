import 'reflect-metadata';
import { setTimeout as elapse } from 'node:timers/promises';
import { BullModule, Processor, WorkerHost } from '@nestjs/bullmq';
import { Controller, Get, Global, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ClientProxyFactory,
  MessagePattern,
  Transport,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { Queue, type Job } from 'bullmq';
import { DistributedLockModule, LockClosedError, LockService, Locked } from 'nestjs-distributed-lock';

const redis = new URL(process.env['REDIS_URL'] ?? '');
const connection = { host: redis.hostname, port: Number(redis.port) };
const JOBS = 40;
const WORK = 20;
const handled = { requests: 0, messages: 0, ticks: 0, hooks: 0, errors: 0 };

@Processor('orders', { concurrency: 8 })
class Orders extends WorkerHost {
  constructor(private readonly locks: LockService) {
    super();
  }

  @Locked({ key: (job: Job<number>) => `shelf:${String(job.data % 2)}` })
  async process(job: Job<number>): Promise<void> {
    await elapse(WORK);
    await this.locks.withLock(`invoice:${String(job.data % 3)}`, () => elapse(WORK));
  }
}

@Controller()
class Desk {
  @Get()
  @Locked('desk')
  async request(): Promise<string> {
    await elapse(WORK);
    handled.requests += 1;
    return 'served';
  }

  @MessagePattern('message')
  @Locked('desk')
  async message(): Promise<string> {
    await elapse(WORK);
    handled.messages += 1;
    return 'served';
  }
}

@Injectable()
class Cleaner implements OnApplicationShutdown {
  constructor(private readonly locks: LockService) {}

  @Interval(5)
  @Locked('cleaning')
  async clean(): Promise<void> {
    await elapse(WORK);
    await this.locks
      .withLock('bin', () => (handled.ticks += 1))
      .catch(() => {
        handled.errors += 1;
      });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.locks.withLock('last', () => (handled.hooks += 1));
  }
}

@Global()
@Module({
  imports: [BullModule.forRoot({ connection }), BullModule.registerQueue({ name: 'orders' })],
  providers: [Orders, Cleaner],
})
class WorkModule {}

// The lock module is in the middle, with global modules before and after it.
@Module({
  imports: [
    ScheduleModule.forRoot(),
    WorkModule,
    DistributedLockModule.forRoot({ redis: redis.href, isGlobal: true }),
    BullModule.registerQueue({ name: 'others' }),
  ],
  controllers: [Desk],
})
class AppModule {}

async function main(): Promise<void> {
  const queue = new Queue<number>('orders', { connection });
  await queue.addBulk(Array.from({ length: JOBS }, (_, data) => ({ name: 'order', data })));

  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  const service = app.connectMicroservice<MicroserviceOptions>({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: 0 },
  });
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  const tcp = (service.unwrap<{ address(): unknown }>().address() as { port: number }).port;
  const client = ClientProxyFactory.create({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: tcp },
  });

  while ((await queue.getCompletedCount()) < 4) await elapse(5);
  // All of them need one lock, and most of them wait for it when shutdown begins.
  const locks = app.get(LockService);
  let queued = 0;
  const everybodyIsThere = new Promise<void>((resolve) => {
    locks.events.subscribe((event) => {
      if (event.type === 'queued' && event.key === 'desk' && ++queued === 6) resolve();
    });
  });
  const own = await locks.acquire('desk');
  for (let i = 0; i < 3; i++) client.send('message', i).subscribe({ error: () => undefined });
  const requests = [1, 2, 3].map(async () => {
    const answer = await fetch(`http://127.0.0.1:${String(port)}/`, { headers: { connection: 'close' } });
    return answer.text();
  });
  await everybodyIsThere;
  const closed = app.close();
  await own.release();
  const answers = await Promise.all(requests);
  await closed;
  client.close();

  const refused = await locks.acquire('k').then(
    () => false,
    (error: unknown) => error instanceof LockClosedError,
  );
  const failed = await queue.getFailedCount();
  const left = await queue.getJobCounts('completed', 'waiting', 'active');
  await queue.close();
  const { requests: served, messages, hooks, errors } = handled;
  console.log(
    JSON.stringify({
      failed,
      active: left['active'],
      jobs: (left['completed'] ?? 0) + (left['waiting'] ?? 0),
      answers,
      served,
      messages,
      hooks,
      errors,
      refused,
    }),
  );
}

void main();
