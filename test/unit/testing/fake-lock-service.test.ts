import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  Locked,
  LockLostError,
  LockOptionsError,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
} from '../../../lib/index.js';
import { FakeLockService, type RecordedMethod } from '../../../lib/testing/index.js';
import { Test } from '@nestjs/testing';

class Payments {
  readonly confirmed: string[] = [];
  meanwhile: () => Promise<void> = () => Promise.resolve();

  // The parameter has the type of the class, so that another fake would not compile.
  constructor(private readonly locks: LockService) {}

  async refund(id: string): Promise<number> {
    return this.locks.withLock(`payment:${id}`, { waitTime: 3_000 }, async (lock) => {
      await this.meanwhile();
      lock.assertHeld();
      this.confirmed.push(id);
      return lock.token;
    });
  }
}

type MethodOf<Class> = {
  [Name in keyof Class]: Class[Name] extends (...args: never) => unknown ? Name : never;
}[keyof Class];

/** Does not compile when LockService has a method that the fake does not record. */
const RECORDED: Record<RecordedMethod, true> & Record<MethodOf<LockService>, true> = {
  withLock: true,
  acquire: true,
  tryAcquire: true,
  isLocked: true,
  current: true,
  assertHeld: true,
};

describe('FakeLockService', () => {
  let locks: FakeLockService;
  let payments: Payments;

  beforeEach(() => {
    locks = new FakeLockService();
    payments = new Payments(locks);
  });

  it('overrides every method of LockService and can replace it in injection', () => {
    const methods = Object.getOwnPropertyNames(LockService.prototype).filter((name) =>
      Object.hasOwn(RECORDED, name),
    );
    expect(methods.sort()).toEqual(Object.keys(RECORDED).sort());
    for (const name of methods) expect(Object.hasOwn(FakeLockService.prototype, name)).toBe(true);
    expect(locks).toBeInstanceOf(LockService);
  });

  it('grants free locks with growing tokens and records the calls', async () => {
    const first = await payments.refund('7');
    const second = await payments.refund('7');
    expect(second).toBeGreaterThan(first);
    expect(locks.calls).toEqual([
      { method: 'withLock', key: 'payment:7', options: { waitTime: 3_000 } },
      { method: 'withLock', key: 'payment:7', options: { waitTime: 3_000 } },
    ]);
    locks.clearCalls();
    expect(locks.calls).toEqual([]);
  });

  it('records the arguments of every method', async () => {
    await locks.withLock('a', () => {
      locks.assertHeld('a');
      locks.current();
      locks.current('a');
    });
    await (await locks.acquire(['a', 'b'])).release();
    await (await locks.tryAcquire('a', { limit: 2 }))?.release();
    await locks.isLocked('a');
    expect(locks.calls).toEqual([
      { method: 'withLock', key: 'a' },
      { method: 'assertHeld', key: 'a' },
      { method: 'current' },
      { method: 'current', key: 'a' },
      { method: 'acquire', key: ['a', 'b'] },
      { method: 'tryAcquire', key: 'a', options: { limit: 2 } },
      { method: 'isLocked', key: 'a' },
    ]);
  });

  it('has a LockAdmin of its locks, whose calls are not recorded', async () => {
    const { token } = await locks.acquire('a');
    expect(locks.admin.held()).toMatchObject([{ key: 'a', token }]);
    expect(await locks.admin.breakHold('a', { token })).toBe('broken');
    expect(locks.calls).toEqual([{ method: 'acquire', key: 'a' }]);
  });

  it('makes a key busy at once, for any waitTime, and free again', async () => {
    await locks.setBusy('payment:7');
    await locks.setBusy('payment:7');
    await expect(payments.refund('7')).rejects.toBeInstanceOf(LockTimeoutError);
    await expect(
      locks.acquire(['payment:6', 'payment:7'], { waitTime: Infinity, retry: { maxAttempts: 3 } }),
    ).rejects.toBeInstanceOf(LockTimeoutError);
    expect(await locks.tryAcquire('payment:7', { waitTime: 60_000 })).toBeNull();
    expect(await locks.isLocked('payment:7')).toBe(true);
    await payments.refund('8');
    await locks.setFree('payment:7');
    await locks.setFree('payment:7');
    await payments.refund('7');
    expect(payments.confirmed).toEqual(['8', '7']);
  });

  it('is unavailable for a key or for all, and available again', async () => {
    locks.setUnavailable('payment:7');
    await expect(payments.refund('7')).rejects.toBeInstanceOf(LockUnavailableError);
    await payments.refund('8');
    locks.setUnavailable();
    await expect(payments.refund('8')).rejects.toBeInstanceOf(LockUnavailableError);
    await expect(locks.admin.inspect('payment:8')).rejects.toBeInstanceOf(LockUnavailableError);
    locks.setAvailable();
    await payments.refund('7');
  });

  it('can lose a lock during the work, and aborts the signal of its handle', async () => {
    payments.meanwhile = () => locks.lose('payment:7');
    await expect(payments.refund('7')).rejects.toBeInstanceOf(LockLostError);
    expect(payments.confirmed).toEqual([]);

    const lock = await locks.acquire('k');
    const { signal } = lock;
    await locks.lose('k');
    expect(signal.reason).toBeInstanceOf(LockLostError);
    await expect(locks.lose('k')).rejects.toThrow(/is not held/);
  });

  it('advances its time', async () => {
    const lock = await locks.acquire('k', { leaseTime: 60_000 });
    await locks.store.advance(60_000);
    expect(lock.isHeld).toBe(false);
  });

  it('rejects what LockService rejects', async () => {
    await locks.setBusy('busy');
    await expect(locks.acquire('')).rejects.toBeInstanceOf(LockOptionsError);
    await expect(locks.acquire(undefined as unknown as string)).rejects.toBeInstanceOf(LockOptionsError);
    await expect(locks.acquire('k', { waitTime: -1 })).rejects.toBeInstanceOf(LockOptionsError);
    await expect(locks.withLock('k', {} as () => void)).rejects.toThrow(/must be the function/);
  });

  it('replaces the service behind @Locked, without the module', async () => {
    class Shop {
      @Locked({ key: (sku: string) => `stock:${sku}`, onBusy: () => 'later' })
      async sell(sku: string): Promise<string> {
        return Promise.resolve(`sold ${sku}`);
      }
    }
    const module = await Test.createTestingModule({
      providers: [Shop, { provide: LockService, useValue: locks }],
    }).compile();
    const shop = module.get(Shop);
    await expect(shop.sell('book')).resolves.toBe('sold book');
    await locks.setBusy('stock:book');
    await expect(shop.sell('book')).resolves.toBe('later');
    expect(locks.calls.map(({ key }) => key)).toEqual(['stock:book', 'stock:book']);
    await module.close();
  });
});
