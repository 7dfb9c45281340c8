import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DistributedLockModule,
  Locked,
  LockLostError,
  LockAdmin,
  LockService,
  LockTimeoutError,
  MemoryLockStore,
} from '../../../lib/index.js';

const LEASE = 30_000;

@Injectable()
class Report {
  finish: (() => void) | undefined;

  @Locked('report')
  async write(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.finish = resolve;
    });
    return 'written';
  }
}

/** The current state of a promise, without waiting for it. */
function watch(promise: Promise<unknown>): { outcome: unknown } {
  const seen: { outcome: unknown } = { outcome: 'pending' };
  promise.then(
    (value) => {
      seen.outcome = value;
    },
    (error: unknown) => {
      seen.outcome = error;
    },
  );
  return seen;
}

/** With Jest's defaults, which also fake `performance`, `queueMicrotask` and `nextTick`. */
describe.each(['before', 'after'])('fake timers that are installed %s the module is created', (order) => {
  let module: TestingModule;
  let locks: LockService;
  let admin: LockAdmin;

  beforeEach(async () => {
    if (order === 'before') jest.useFakeTimers();
    module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      providers: [Report],
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

  it('end a lease with leaseTime, and report the loss', async () => {
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
  });

  it('end a wait after its waitTime, and not before', async () => {
    const lock = await locks.acquire('k');
    const waiting = watch(locks.acquire('k', { waitTime: 5_000 }));
    await jest.advanceTimersByTimeAsync(4_999);
    expect(waiting.outcome).toBe('pending');
    await jest.advanceTimersByTimeAsync(1);
    expect(waiting.outcome).toBeInstanceOf(LockTimeoutError);
    await lock.release();
  });

  it('let the watchdog renew a lock while its work runs', async () => {
    const report = module.get(Report);
    const written = watch(report.write());
    await jest.advanceTimersByTimeAsync(10 * LEASE);
    expect(await locks.isLocked('report')).toBe(true);
    await expect(admin.inspect('report')).resolves.toMatchObject({ label: undefined });
    expect((await admin.inspect('report'))?.remaining).toBeGreaterThan(LEASE / 2);
    report.finish?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(written.outcome).toBe('written');
    expect(await locks.isLocked('report')).toBe(false);
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
