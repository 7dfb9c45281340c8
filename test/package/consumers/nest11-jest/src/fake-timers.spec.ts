import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DistributedLockModule,
  Locked,
  LockLostError,
  LockService,
  LockTimeoutError,
} from 'nestjs-distributed-lock';

@Injectable()
class LockReporter {
  finish: () => void = () => undefined;

  @Locked({ key: 'report', waitTime: 5_000 })
  async write(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.finish = resolve;
    });
    return 'written';
  }
}

describe('with Jest’s modern fake timers, which fake everything', () => {
  let module: TestingModule;

  beforeEach(async () => {
    jest.useFakeTimers();
    module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      providers: [LockReporter],
    }).compile();
    await module.init();
  });

  afterEach(async () => {
    jest.useRealTimers();
    await module.close();
  });

  it('the watchdog renews a lock', async () => {
    const written = module.get(LockReporter).write();
    await jest.advanceTimersByTimeAsync(10 * 30_000);
    await expect(module.get(LockService).isLocked('report')).resolves.toBe(true);
    module.get(LockReporter).finish();
    await expect(written).resolves.toBe('written');
    await expect(module.get(LockService).isLocked('report')).resolves.toBe(false);
  });

  it('a leaseTime ends', async () => {
    const lock = await module.get(LockService).acquire('k', { leaseTime: 10_000 });
    const { signal } = lock;
    await jest.advanceTimersByTimeAsync(10_000);
    expect(lock.isHeld).toBe(false);
    expect(signal.reason).toBeInstanceOf(LockLostError);
  });

  it('a waitTime ends', async () => {
    const lock = await module.get(LockService).acquire('report');
    const refused = expect(module.get(LockReporter).write()).rejects.toBeInstanceOf(LockTimeoutError);
    await jest.advanceTimersByTimeAsync(5_000);
    await refused;
    await lock.release();
  });

  it('a lock is handed over without advancing the time', async () => {
    const locks = module.get(LockService);
    const lock = await locks.acquire('k');
    const next = locks.acquire('k');
    await lock.release();
    await (await next).release();
  });
});
