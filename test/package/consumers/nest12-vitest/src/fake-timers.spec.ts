import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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

describe('with Vitest’s fake timers, including performance', () => {
  let module: TestingModule;

  beforeEach(async () => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    });
    module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      providers: [LockReporter],
    }).compile();
    await module.init();
  });

  afterEach(async () => {
    vi.useRealTimers();
    await module.close();
  });

  it('the watchdog renews a lock', async () => {
    const written = module.get(LockReporter).write();
    await vi.advanceTimersByTimeAsync(10 * 30_000);
    await expect(module.get(LockService).isLocked('report')).resolves.toBe(true);
    module.get(LockReporter).finish();
    await expect(written).resolves.toBe('written');
    await expect(module.get(LockService).isLocked('report')).resolves.toBe(false);
  });

  it('a leaseTime ends', async () => {
    const lock = await module.get(LockService).acquire('k', { leaseTime: 10_000 });
    const { signal } = lock;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lock.isHeld).toBe(false);
    expect(signal.reason).toBeInstanceOf(LockLostError);
  });

  it('a waitTime ends', async () => {
    const lock = await module.get(LockService).acquire('report');
    const refused = expect(module.get(LockReporter).write()).rejects.toBeInstanceOf(LockTimeoutError);
    await vi.advanceTimersByTimeAsync(5_000);
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
