import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DistributedLockModule,
  LockLostError,
  LockAdmin,
  LockService,
  LockTimeoutError,
  MemoryLockStore,
} from '../../../lib/index.js';

/** With Jest's defaults, which also fake `performance`, `queueMicrotask` and `nextTick`. */
describe.each(['before', 'after'])('fake timers that are installed %s the module is created', (order) => {
  let module: TestingModule;
  let locks: LockService;
  let admin: LockAdmin;

  beforeEach(async () => {
    if (order === 'before') jest.useFakeTimers();
    module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
    }).compile();
    await module.init();
    jest.useFakeTimers();
    locks = module.get(LockService);
    admin = module.get(LockAdmin);
  });

  afterEach(async () => {
    jest.useRealTimers();
    await module.close();
  });

  it('end a lease with leaseTime, report the loss, and let the watchdog renew other locks', async () => {
    const renewed = await locks.acquire('renewed');
    const lock = await locks.acquire('k', { leaseTime: 10_000 });
    const { signal } = lock;
    await jest.advanceTimersByTimeAsync(9_000);
    expect(lock.isHeld).toBe(true);
    expect(lock.remaining).toBeLessThanOrEqual(1_000);
    expect(signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(lock.isHeld).toBe(false);
    expect(signal.reason).toBeInstanceOf(LockLostError);
    await expect(locks.tryAcquire('k').then((next) => next?.release())).resolves.toBe('released');
    await jest.advanceTimersByTimeAsync(300_000);
    expect((await admin.inspect('renewed'))?.remaining).toBeGreaterThan(15_000);
    await expect(renewed.release()).resolves.toBe('released');
  });

  it('end a wait after its waitTime, and not before', async () => {
    const lock = await locks.acquire('k');
    let outcome: unknown = 'pending';
    void locks.acquire('k', { waitTime: 5_000 }).catch((error: unknown) => (outcome = error));
    await jest.advanceTimersByTimeAsync(4_999);
    expect(outcome).toBe('pending');
    await jest.advanceTimersByTimeAsync(1);
    expect(outcome).toBeInstanceOf(LockTimeoutError);
    await lock.release();
  });

  it('never block a call that has nothing to wait for', async () => {
    const lock = await locks.acquire('k');
    const next = locks.acquire('k');
    await lock.release();
    const held = await next;
    await held.release();
    const shared = await locks.acquire('k', { limit: 2 });
    const aborted = new Promise((resolve) => {
      shared.signal.addEventListener('abort', resolve);
    });
    await admin.forceRelease('k');
    await aborted;
    expect(shared.isHeld).toBe(false);
    await expect(locks.withLock(['a', 'b'], () => 'done')).resolves.toBe('done');
  });

  it('let a lock pass from one module instance to another', async () => {
    const store = new MemoryLockStore();
    const others = await Promise.all(
      [1, 2].map(() =>
        Test.createTestingModule({ imports: [DistributedLockModule.forRoot({ store })] }).compile(),
      ),
    );
    const [one, two] = others.map((other) => other.get(LockService));
    const lock = await one?.acquire('k');
    const next = two?.acquire('k');
    await lock?.release();
    await expect(next?.then((held) => held.release())).resolves.toBe('released');
    await Promise.all(others.map((other) => other.close()));
  });
});
