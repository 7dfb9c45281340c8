import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DistributedLockModule,
  LockAdmin,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
  type DistributedLockOptions,
  type LockEvent,
} from '../../../lib/index.js';
import { TestLockStore } from '../../../lib/testing/index.js';
import { rejectionOf, stateOf } from '../../support/until.js';

describe.each([true, false])('TestLockStore in a testing module, frozen: %s', (frozen) => {
  let modules: TestingModule[] = [];
  let store: TestLockStore;
  let locks: LockService;
  let admin: LockAdmin;

  async function start(options: Pick<DistributedLockOptions, 'onUnavailable'> = {}): Promise<TestingModule> {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store, shutdownTimeout: 0, ...options })],
    }).compile();
    modules.push(module);
    await module.init();
    return module;
  }

  beforeEach(async () => {
    store = new TestLockStore({ frozen });
    const module = await start();
    [locks, admin] = [module.get(LockService), module.get(LockAdmin)];
  });
  afterEach(async () => {
    await Promise.all(modules.map((module) => module.close()));
    modules = [];
  });

  it('ends a leaseTime when the time advances', async () => {
    const lock = await locks.acquire('k', { leaseTime: 3_600_000 });
    await store.advance(1_800_000);
    expect(lock.isHeld).toBe(true);
    expect(lock.signal.aborted).toBe(false);
    await store.advance(1_800_000);
    expect(lock.isHeld).toBe(false);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(await locks.isLocked('k')).toBe(false);
  });

  it('renews as often as the skipped time requires', async () => {
    const events: LockEvent[] = [];
    locks.events.subscribe((event) => events.push(event));
    const lock = await locks.acquire('k');
    const since = lock.acquiredAt;
    await store.advance(600_000);
    expect(lock.isHeld).toBe(true);
    expect(events.filter(({ type }) => type === 'renewed').length).toBeGreaterThanOrEqual(55);
    const info = await admin.inspect('k');
    expect(info?.acquiredAt).toBe(since);
    expect(info?.remaining).toBeGreaterThan(0);
    expect((info?.expiresAt ?? 0) - since).toBeGreaterThan(600_000);
    await lock.release();
  });

  it('keeps the lock of another process until the test releases it', async () => {
    const other = await store.hold(['a', 'b'], { label: 'a test' });
    await store.advance(600_000);
    expect(await locks.tryAcquire('b')).toBeNull();
    expect((await admin.inspect('a'))?.label).toBe('a test');
    await other.release();
    expect(await locks.isLocked('a')).toBe(false);
  });

  it('can not hold for another process a lock that the code under test holds', async () => {
    const lock = await locks.acquire('k');
    await expect(store.hold('k')).rejects.toBeInstanceOf(LockTimeoutError);
    await lock.release();
    await (await store.hold('k')).release();
  });

  it('throws if there is no lock to lose', async () => {
    await expect(store.lose('k')).rejects.toThrow(/the lock "k" is not held/);
  });

  it('is unavailable for one key only', async () => {
    store.setUnavailable('a');
    await expect(locks.acquire(['a', 'b'])).rejects.toBeInstanceOf(LockUnavailableError);
    await expect(admin.inspect('a')).rejects.toBeInstanceOf(LockUnavailableError);
    await (await locks.acquire('b')).release();
    store.setAvailable('a');
    await (await locks.acquire('a')).release();
  });

  it('starts an application although it is unavailable', async () => {
    store.setUnavailable();
    const started = (await start()).get(LockService);
    await expect(started.acquire('k')).rejects.toBeInstanceOf(LockUnavailableError);
    store.setAvailable();
    await (await started.acquire('k')).release();
  });

  it('wakes waiters when it is available again', async () => {
    const other = await store.hold('k');
    const waiting = locks.acquire('k', { waitTime: Infinity });
    await store.untilQueued('k');
    store.setUnavailable();
    await other.release();
    store.setAvailable();
    await (await waiting).release();
  });

  it("falls back to local locks with onUnavailable: 'local'", async () => {
    const local = (await start({ onUnavailable: 'local' })).get(LockService);
    store.setUnavailable();
    const lock = await local.acquire('k', { leaseTime: 10_000 });
    expect(lock.local).toBe(true);
    await store.advance(10_000);
    expect(lock.isHeld).toBe(false);
    store.setAvailable();
  });
});

describe('TestLockStore', () => {
  it('does not advance when it is frozen, to the millisecond', async () => {
    const store = new TestLockStore({ frozen: true });
    const lock = await store.hold('k', { leaseTime: 1_000 });
    const left = lock.remaining;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(lock.remaining).toBe(left);
    const waiting = rejectionOf(store.hold('k', { waitTime: 500 }));
    await store.advance(499);
    expect(await stateOf(waiting)).toBe('pending');
    await store.advance(1);
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
    expect(lock.remaining).toBe(left - 500);
  });

  it('runs in real time unless it is frozen', async () => {
    const store = new TestLockStore();
    await store.hold('k', { leaseTime: 30 });
    await (await store.hold('k', { waitTime: 60_000 })).release();
  });

  it('advances twice in order when called twice at once', async () => {
    const store = new TestLockStore({ frozen: true });
    const begun = store.clock.monotonic();
    await Promise.all([store.advance(1_000), store.advance(500)]);
    expect(store.clock.monotonic() - begun).toBe(1_500);
    await expect(store.advance(-1)).rejects.toThrow(/advance\(\): ms must be a number of milliseconds/);
  });
});
