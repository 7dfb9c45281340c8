import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DistributedLockModule,
  LockAdmin,
  LockLostError,
  LockService,
  LockTimeoutError,
} from 'nestjs-distributed-lock';
import { Bank, Payments } from './payments.js';

let testing: TestingModule;

beforeEach(async () => {
  testing = await Test.createTestingModule({
    imports: [DistributedLockModule.forRoot({ store: 'memory' })],
    providers: [Bank, Payments],
  }).compile();
});

afterEach(() => testing.close());

it('rejects a second payment at the same time', async () => {
  const other = await testing.get(LockService).acquire('payment:7');
  await expect(testing.get(Payments).pay('7')).rejects.toBeInstanceOf(LockTimeoutError);
  await other.release();
  await expect(testing.get(Payments).pay('7')).resolves.toBe('confirmed 7');
});

it('does not refund when an operator breaks the lock during the work', async () => {
  testing.get(Bank).confirm = async () => {
    await testing.get(LockAdmin).forceRelease('payment:7');
    return 'confirmed too late';
  };
  await expect(testing.get(Payments).refund('7')).rejects.toBeInstanceOf(LockLostError);
});
