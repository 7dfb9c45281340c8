import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { LockService, LockTimeoutError } from 'nestjs-distributed-lock';
import { FakeLockService } from 'nestjs-distributed-lock/testing';
import { Bank, Payments } from './payments.js';

it('rejects a payment while another process holds the lock', async () => {
  const locks = new FakeLockService();
  const testing = await Test.createTestingModule({
    providers: [Bank, Payments, { provide: LockService, useValue: locks }],
  }).compile();
  await locks.setBusy('payment:7');
  await expect(testing.get(Payments).pay('7')).rejects.toBeInstanceOf(LockTimeoutError);
});
