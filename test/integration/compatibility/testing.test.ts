/* eslint-disable @typescript-eslint/no-unsafe-argument -- getHttpServer() returns any; written as in applications. */
import { Controller, Injectable, Module, Param, Post } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import {
  DistributedLockModule,
  Locked,
  LockLostError,
  LockAdmin,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
  MemoryLockStore,
} from '../../../lib/index.js';

// A user's application, up to the tests.

@Injectable()
class Bank {
  async confirm(id: string): Promise<string> {
    return Promise.resolve(`confirmed ${id}`);
  }
}

@Injectable()
class Payments {
  constructor(
    private readonly bank: Bank,
    private readonly locks: LockService,
  ) {}

  @Locked({ key: (id: string) => `payment:${id}`, waitTime: 0 })
  async pay(id: string): Promise<string> {
    return this.bank.confirm(id);
  }

  async refund(id: string): Promise<string> {
    return this.locks.withLock(`payment:${id}`, { waitTime: 0 }, async (lock) => {
      const answer = await this.bank.confirm(id);
      lock.assertHeld();
      return answer;
    });
  }
}

@Controller('payments')
class PaymentsController {
  constructor(private readonly payments: Payments) {}

  @Post(':id')
  @Locked({ key: (id: string) => `payment:${id}`, waitTime: 0 })
  async pay(@Param('id') id: string): Promise<string> {
    return this.payments.pay(id);
  }
}

const locksModule = DistributedLockModule.forRoot({ redis: 'redis://redis.internal:6379' });

@Module({
  imports: [locksModule],
  providers: [Bank, Payments],
  controllers: [PaymentsController],
})
class AppModule {}

describe('tests of an application with locks', () => {
  let module: TestingModule;
  afterEach(() => module.close());

  it('run with locks in memory: a busy lock', async () => {
    module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      providers: [Bank, Payments],
    }).compile();
    const payments = module.get(Payments);
    const locks = module.get(LockService);

    const other = await locks.acquire('payment:7');
    await expect(payments.pay('7')).rejects.toBeInstanceOf(LockTimeoutError);
    await other.release();
    await expect(payments.pay('7')).resolves.toBe('confirmed 7');
  });

  it('run with locks in memory: a lock that is lost', async () => {
    module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      providers: [Bank, Payments],
    }).compile();
    const payments = module.get(Payments);
    const admin = module.get(LockAdmin);

    module.get(Bank).confirm = async () => {
      await admin.forceRelease('payment:7');
      return 'confirmed too late';
    };
    await expect(payments.refund('7')).rejects.toBeInstanceOf(LockLostError);
  });

  it('use the whole application, with its locks in memory', async () => {
    module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideModule(locksModule)
      .useModule(DistributedLockModule.forRoot({ store: 'memory' }))
      .compile();
    const app = module.createNestApplication();
    await app.init();

    const other = await app.get(LockService).acquire('payment:7');
    await request(app.getHttpServer()).post('/payments/7').expect(423);
    await other.release();
    await request(app.getHttpServer()).post('/payments/7').expect(201, 'confirmed 7');
    await app.close();
  });

  it('use the whole application, with a fake: Redis is unreachable', async () => {
    const away = () => Promise.reject(new LockUnavailableError('Redis is unreachable'));
    module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideModule(locksModule)
      .useModule(DistributedLockModule.forRoot({ store: 'memory' }))
      .overrideProvider(LockService)
      .useValue({ withLock: away, acquire: away })
      .compile();
    const app = module.createNestApplication();
    await app.init();

    await expect(app.get(Payments).refund('7')).rejects.toBeInstanceOf(LockUnavailableError);
    await request(app.getHttpServer()).post('/payments/7').expect(503);
    await app.close();
  });

  it('use one service, with a fake and without the module', async () => {
    const keys: string[] = [];
    const locks = {
      withLock: async (key: string, _options: object, work: (lock: object) => unknown) => {
        keys.push(key);
        return work({ assertHeld: () => undefined });
      },
    };
    module = await Test.createTestingModule({
      providers: [Bank, Payments, { provide: LockService, useValue: locks }],
    }).compile();
    const payments = module.get(Payments);

    await expect(payments.pay('7')).resolves.toBe('confirmed 7');
    await expect(payments.refund('8')).resolves.toBe('confirmed 8');
    expect(keys).toEqual(['payment:7', 'payment:8']);
  });

  it('run two applications that share their locks', async () => {
    const store = new MemoryLockStore();
    const start = async (): Promise<TestingModule> => {
      const locks = DistributedLockModule.forRoot({ store });
      return Test.createTestingModule({ imports: [locks], providers: [Bank, Payments] }).compile();
    };
    module = await start();
    const second = await start();

    const other = await second.get(LockService).acquire('payment:7');
    await expect(module.get(Payments).pay('7')).rejects.toBeInstanceOf(LockTimeoutError);
    await other.release();
    await second.close();
  });
});
