import { beforeEach, describe, expect, it } from '@jest/globals';
import { LockOptionsError, LockService, LockTimeoutError } from '../../../lib/index.js';
import { FakeLockService, type RecordedMethod } from '../../../lib/testing/index.js';

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

  beforeEach(() => {
    locks = new FakeLockService();
  });

  it('overrides every method of LockService and can replace it in injection', () => {
    const methods = Object.getOwnPropertyNames(LockService.prototype).filter((name) =>
      Object.hasOwn(RECORDED, name),
    );
    expect(methods.sort()).toEqual(Object.keys(RECORDED).sort());
    for (const name of methods) expect(Object.hasOwn(FakeLockService.prototype, name)).toBe(true);
    expect(locks).toBeInstanceOf(LockService);
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
    locks.clearCalls();
    expect(locks.calls).toEqual([]);
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
    // Compiles only if the fake has the type of the class.
    const service: LockService = locks;
    const refund = (key: string): Promise<string> => service.withLock(key, { waitTime: 3_000 }, () => 'done');
    await expect(refund('payment:7')).rejects.toBeInstanceOf(LockTimeoutError);
    await expect(
      locks.acquire(['payment:6', 'payment:7'], { waitTime: Infinity, retry: { maxAttempts: 3 } }),
    ).rejects.toBeInstanceOf(LockTimeoutError);
    expect(await locks.tryAcquire('payment:7', { waitTime: 60_000 })).toBeNull();
    expect(await locks.isLocked('payment:7')).toBe(true);
    expect(await refund('payment:8')).toBe('done');
    await locks.setFree('payment:7');
    await locks.setFree('payment:7');
    expect(await refund('payment:7')).toBe('done');
  });

  it('rejects what LockService rejects', async () => {
    await locks.setBusy('busy');
    await expect(locks.acquire('')).rejects.toBeInstanceOf(LockOptionsError);
    await expect(locks.acquire(undefined as unknown as string)).rejects.toBeInstanceOf(LockOptionsError);
    await expect(locks.acquire('k', { waitTime: -1 })).rejects.toBeInstanceOf(LockOptionsError);
    await expect(locks.withLock('k', {} as () => void)).rejects.toThrow(/must be the function/);
  });
});
