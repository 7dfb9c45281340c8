import { beforeEach, expect, it } from '@jest/globals';
import { LockLostError, LockTimeoutError, LockUnavailableError } from 'nestjs-distributed-lock';
import { FakeLockService } from 'nestjs-distributed-lock/testing';
import { Bank, Payments } from './payments.js';

let locks: FakeLockService;
let bank: Bank;
let payments: Payments;

beforeEach(() => {
  locks = new FakeLockService();
  bank = new Bank();
  payments = new Payments(bank, locks);
});

it('acquires the lock of the payment', async () => {
  await payments.refund('7');
  expect(locks.calls).toEqual([{ method: 'withLock', key: 'payment:7', options: { waitTime: 5_000 } }]);
});

it('rejects while another process holds the lock', async () => {
  await locks.setBusy('payment:7');
  await expect(payments.refund('7')).rejects.toBeInstanceOf(LockTimeoutError); // at once
  await locks.setFree('payment:7');
});

it('notices that the lock is lost', async () => {
  bank.confirm = async () => {
    await locks.lose('payment:7');
    return 'confirmed too late';
  };
  await expect(payments.refund('7')).rejects.toBeInstanceOf(LockLostError);
});

it('fails when the store is unavailable', async () => {
  locks.setUnavailable();
  await expect(payments.refund('7')).rejects.toBeInstanceOf(LockUnavailableError);
});
