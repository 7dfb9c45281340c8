import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Injectable, Param, Post } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import request from 'supertest';
import {
  DistributedLockModule,
  Locked,
  LockLostError,
  LockAdmin,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
  type DistributedLockOptions,
  type LockEvent,
} from '../../../lib/index.js';
import { TestLockStore } from '../../../lib/testing/index.js';

@Injectable()
class Payments {
  confirm: (id: string) => Promise<string> = (id) => Promise.resolve(`confirmed ${id}`);

  constructor(private readonly locks: LockService) {}

  @Locked({ key: (id: string) => `payment:${id}` })
  async pay(id: string): Promise<string> {
    return this.confirm(id);
  }

  async refund(id: string): Promise<string> {
    return this.locks.withLock(`payment:${id}`, async (lock) => {
      const answer = await this.confirm(id);
      lock.assertHeld();
      return answer;
    });
  }
}

@Controller('payments')
class PaymentsController {
  constructor(private readonly payments: Payments) {}

  @Post(':id')
  @Locked({ key: (id: string) => `request:${id}`, waitTime: 5_000 })
  async pay(@Param('id') id: string): Promise<string> {
    return this.payments.pay(id);
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

describe.each([true, false])('TestLockStore in a testing module, frozen: %s', (frozen) => {
  let modules: TestingModule[] = [];
  let store: TestLockStore;
  let locks: LockService;
  let admin: LockAdmin;
  let payments: Payments;

  async function start(options: Pick<DistributedLockOptions, 'onUnavailable'> = {}): Promise<TestingModule> {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store, shutdownTimeout: 0, ...options })],
      providers: [Payments],
      controllers: [PaymentsController],
    }).compile();
    modules.push(module);
    await module.init();
    return module;
  }

  beforeEach(async () => {
    store = new TestLockStore({ frozen });
    const module = await start();
    [locks, admin, payments] = [module.get(LockService), module.get(LockAdmin), module.get(Payments)];
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

  it('ends a wait when the time advances', async () => {
    const other = await store.hold('payment:7');
    const paid = watch(payments.pay('7'));
    await store.untilQueued('payment:7');
    expect(paid.outcome).toBe('pending');
    await store.advance(5_000);
    expect(paid.outcome).toBeInstanceOf(LockTimeoutError);
    await other.release();
    await expect(payments.pay('7')).resolves.toBe('confirmed 7');
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

  it('can lose a lock during the work', async () => {
    payments.confirm = async () => {
      await store.lose('payment:7');
      return 'confirmed too late';
    };
    const error: unknown = await payments.refund('7').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: 'taken' });
  });

  it('throws if there is no lock to lose', async () => {
    await expect(store.lose('k')).rejects.toThrow(/the lock "k" is not held/);
  });

  it('is unavailable at once, for any waitTime, and available again', async () => {
    store.setUnavailable();
    await expect(payments.pay('7')).rejects.toBeInstanceOf(LockUnavailableError);
    await expect(payments.refund('8')).rejects.toBeInstanceOf(LockUnavailableError);
    store.setAvailable();
    await expect(payments.pay('7')).resolves.toBe('confirmed 7');
  });

  it('is unavailable for one key only', async () => {
    store.setUnavailable('a');
    await expect(locks.acquire(['a', 'b'])).rejects.toBeInstanceOf(LockUnavailableError);
    await expect(admin.inspect('a')).rejects.toBeInstanceOf(LockUnavailableError);
    await (await locks.acquire('b')).release();
    store.setAvailable('a');
    await (await locks.acquire('a')).release();
  });

  it('loses a lock that is not renewed', async () => {
    const lock = await locks.acquire('k');
    store.setUnavailable();
    await store.advance(30_000);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'unreachable' });
    store.setAvailable();
  });

  it('starts an application although it is unavailable', async () => {
    store.setUnavailable();
    const started = (await start()).get(Payments);
    await expect(started.pay('7')).rejects.toBeInstanceOf(LockUnavailableError);
    store.setAvailable();
    await expect(started.pay('7')).resolves.toBe('confirmed 7');
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

  it('answers requests over HTTP with 201, 423 and 503', async () => {
    const app = (await start()).createNestApplication();
    await app.init();
    const server = app.getHttpServer() as Parameters<typeof request>[0];
    await request(server).post('/payments/7').expect(201, 'confirmed 7');

    const other = await store.hold('request:7');
    const answer = request(server)
      .post('/payments/7')
      .then(({ status }) => status);
    await store.untilQueued('request:7');
    await store.advance(5_000);
    await expect(answer).resolves.toBe(423);
    await other.release();

    store.setUnavailable();
    await request(server).post('/payments/7').expect(503);
    store.setAvailable();
    await request(server).post('/payments/7').expect(201);
    await app.close();
  });

  it('is shared by several modules', async () => {
    const other = (await start()).get(LockService);
    const lock = await locks.acquire('k');
    const next = other.acquire('k');
    await store.untilQueued('k');
    await lock.release();
    await (await next).release();
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
    const waiting = watch(store.hold('k', { waitTime: 500 }));
    await store.advance(499);
    expect(waiting.outcome).toBe('pending');
    await store.advance(1);
    expect(waiting.outcome).toBeInstanceOf(LockTimeoutError);
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
