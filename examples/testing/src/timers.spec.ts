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

it('gives up after five seconds', async () => {
  const other = await testing.get(LockService).acquire('payment:7');
  const refused = expect(testing.get(Payments).refund('7')).rejects.toBeInstanceOf(LockTimeoutError);
  await jest.advanceTimersByTimeAsync(5_000);
  await refused;
  await other.release();
});

it('keeps the lock for as long as the work runs, and a lease no longer than it lasts', async () => {
  const renewed = await testing.get(LockService).acquire('renewed');
  const leased = await testing.get(LockService).acquire('leased', { leaseTime: 10_000 });
  await jest.advanceTimersByTimeAsync(600_000);
  expect(renewed.isHeld).toBe(true);
  expect(leased.isHeld).toBe(false);
  await renewed.release();
});
