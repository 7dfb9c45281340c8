import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributedLockModule, LockService, LockTimeoutError } from 'nestjs-distributed-lock';
import { Bank, Payments } from './payments.js';

let testing: TestingModule;

beforeEach(async () => {
  jest.useFakeTimers();
  testing = await Test.createTestingModule({
    imports: [DistributedLockModule.forRoot({ store: 'memory' })],
    providers: [Bank, Payments],
  }).compile();
});

afterEach(async () => {
  jest.useRealTimers();
  await testing.close();
});

it('times out after five seconds', async () => {
  const other = await testing.get(LockService).acquire('payment:7');
  const rejected = expect(testing.get(Payments).refund('7')).rejects.toBeInstanceOf(LockTimeoutError);
  await jest.advanceTimersByTimeAsync(5_000);
  await rejected;
  await other.release();
});

it('renews a lock, but not one with a leaseTime', async () => {
  const renewed = await testing.get(LockService).acquire('renewed');
  const leased = await testing.get(LockService).acquire('leased', { leaseTime: 10_000 });
  await jest.advanceTimersByTimeAsync(600_000);
  expect(renewed.isHeld).toBe(true);
  expect(leased.isHeld).toBe(false);
  await renewed.release();
});
