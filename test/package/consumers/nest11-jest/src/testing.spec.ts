import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { DistributedLockModule, LockLostError, LockService, LockTimeoutError } from 'nestjs-distributed-lock';
import { FakeLockService, TestLockStore } from 'nestjs-distributed-lock/testing';
import { Stock } from './shop.js';

it('a class is tested with a fake of the service', async () => {
  const locks = new FakeLockService();
  const stock = new Stock(locks);
  await stock.count();
  expect(stock.byService.value).toBe(1);
  expect(locks.calls).toEqual([{ method: 'withLock', key: 'count', options: { waitTime: 10_000 } }]);
  await locks.setBusy('count');
  await expect(stock.count()).rejects.toBeInstanceOf(LockTimeoutError);
});

it('a module is tested with a store that the test controls', async () => {
  const store = new TestLockStore({ frozen: true });
  const testing = await Test.createTestingModule({
    imports: [DistributedLockModule.forRoot({ store, shutdownTimeout: 0 })],
    providers: [Stock],
  }).compile();
  const app = await testing.init();

  const other = await store.hold('stock:book');
  const refused = expect(app.get(Stock).take('book')).rejects.toBeInstanceOf(LockTimeoutError);
  await store.advance(10_000);
  await refused;
  await other.release();
  await expect(app.get(Stock).take('book')).resolves.toBe('took book');

  const lock = await app.get(LockService).acquire('k');
  await store.lose('k');
  expect(lock.signal.reason).toBeInstanceOf(LockLostError);

  store.setUnavailable();
  await expect(app.get(Stock).take('book')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  await app.close();
});
