import { Test, type TestingModule } from '@nestjs/testing';
import { DistributedLockModule, LockService, LockTimeoutError } from 'nestjs-distributed-lock';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Bank, Payments } from './payments.js';

let testing: TestingModule;

beforeEach(async () => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
  testing = await Test.createTestingModule({
    imports: [DistributedLockModule.forRoot({ store: 'memory' })],
    providers: [Bank, Payments],
  }).compile();
});

afterEach(async () => {
  vi.useRealTimers();
  await testing.close();
});

it('times out after five seconds', async () => {
  const other = await testing.get(LockService).acquire('payment:7');
  const rejected = expect(testing.get(Payments).refund('7')).rejects.toBeInstanceOf(LockTimeoutError);
  await vi.advanceTimersByTimeAsync(5_000);
  await rejected;
  await other.release();
});

it('does not renew a lock with a leaseTime', async () => {
  const leased = await testing.get(LockService).acquire('leased', { leaseTime: 10_000 });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(leased.isHeld).toBe(false);
});
