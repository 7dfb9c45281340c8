import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DistributedLockModule,
  LockLostError,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
} from 'nestjs-distributed-lock';
import { TestLockStore } from 'nestjs-distributed-lock/testing';
import { Bank, Payments } from './payments.js';

let store: TestLockStore;
let testing: TestingModule;

beforeEach(async () => {
  store = new TestLockStore();
  testing = await Test.createTestingModule({
    imports: [DistributedLockModule.forRoot({ store, shutdownTimeout: 0 })],
    providers: [Bank, Payments],
  }).compile();
});

afterEach(() => testing.close());

it('times out after five seconds, without waiting for them', async () => {
  const other = await store.hold('payment:7'); // as another process would
  const rejected = expect(testing.get(Payments).refund('7')).rejects.toBeInstanceOf(LockTimeoutError);
  await store.untilQueued('payment:7');
  await store.advance(5_000);
  await rejected;
  await other.release();
});

it('does not refund when the lock is lost', async () => {
  testing.get(Bank).confirm = async () => {
    await store.lose('payment:7');
    return 'confirmed too late';
  };
  await expect(testing.get(Payments).refund('7')).rejects.toBeInstanceOf(LockLostError);
});

it('fails when the store is unavailable', async () => {
  store.setUnavailable();
  await expect(testing.get(Payments).pay('7')).rejects.toBeInstanceOf(LockUnavailableError);
  store.setAvailable();
  await expect(testing.get(Payments).pay('7')).resolves.toBe('confirmed 7');
});

it('loses a lock that it cannot renew', async () => {
  const lock = await testing.get(LockService).acquire('k');
  store.setUnavailable();
  await store.advance(30_000);
  expect(lock.isHeld).toBe(false);
});
