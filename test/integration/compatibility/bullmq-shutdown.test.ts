import { BullModule, Processor, WorkerHost } from '@nestjs/bullmq';
import { Global, Module, type DynamicModule, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Queue, type Job } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { elapse, until, within } from '../../support/until.js';

const JOBS = 40;
const WORK = 20;

/** Every job acquires contended locks, the second one after some work. */
@Processor('orders', { concurrency: 8 })
class Orders extends WorkerHost {
  constructor(private readonly locks: LockService) {
    super();
  }

  @Locked({ key: (job: Job<number>) => `shelf:${job.data % 2}` })
  async process(job: Job<number>): Promise<void> {
    await elapse(WORK);
    await this.locks.withLock(`invoice:${job.data % 3}`, () => elapse(WORK));
  }
}

describe('shutdown with workers of queues', () => {
  let queue: Queue<number>;
  const running: TestingModule[] = [];
  const log = new LogRecorder();

  beforeEach(async () => {
    queue = new Queue('orders', { connection: { host: scene.server.host, port: scene.server.port } });
    await queue.obliterate({ force: true });
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((module) => module.close()));
    await queue.close();
  });
  const scene = new RedisScene();

  const start = async (parts: ModuleMetadata): Promise<TestingModule> => {
    const module = await Test.createTestingModule(parts).setLogger(log).compile();
    running.push(module);
    await module.init();
    return module;
  };
  const bull = (): DynamicModule[] => [
    BullModule.forRoot({ connection: { host: scene.server.host, port: scene.server.port } }),
    BullModule.registerQueue({ name: 'orders' }),
  ];
  const locks = (): DynamicModule => DistributedLockModule.forRoot({ redis: scene.url });

  const places: Record<string, () => ModuleMetadata> = {
    'imported first': () => ({ imports: [locks(), ...bull()], providers: [Orders] }),
    'beside global modules that have workers': () => {
      @Global()
      @Module({ imports: [...bull()], providers: [Orders] })
      class Work {}
      return {
        imports: [DistributedLockModule.forRootAsync({ useFactory: () => ({ redis: scene.url }) }), Work],
      };
    },
  };

  it.each(Object.keys(places))('B60: no running or starting job fails, of a module %s', async (place) => {
    await queue.addBulk(Array.from({ length: JOBS }, (_, data) => ({ name: 'order', data })));
    const leaving = await start(places[place]!());
    await until('some are done', async () => (await queue.getCompletedCount()) >= 4);
    await within(15_000, 'the end', leaving.close());
    const reasons = (await queue.getFailed()).map(({ failedReason }) => failedReason);
    expect(reasons).toEqual([]);
    expect(await queue.getJobCounts('completed', 'waiting', 'active')).toMatchObject({ active: 0 });
    const left = await queue.getWaitingCount();
    expect(left).toBeGreaterThan(0);

    await start(places[place]!());
    await until('all are done', async () => (await queue.getCompletedCount()) === JOBS, {
      deadline: 20_000,
    });
    expect(await queue.getFailedCount()).toBe(0);
  });
});
