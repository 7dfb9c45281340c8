import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LockEngine } from '../../lib/engine/lock-engine.js';
import {
  LockStoreError,
  MemoryLockStore,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
  type ReleaseOutcome,
  type RenewReply,
  type WallClockMs,
} from '../../lib/index.js';
import { resolveLockOptions } from '../../lib/model/lock.options.js';

type Renew = Parameters<LockStoreSession['renew']>[0][number];

const away = new LockStoreError('the store is away', { inDoubt: true, retryable: true });

/** A store in memory that writes down what keeps and frees locks, and may be away. */
class Scribe implements LockStore {
  readonly name = 'a scribe';
  readonly written: unknown[] = [];
  isAway = false;
  /** How long a request and its reply are on their way, ms. */
  delay = 0;
  reply: RenewReply = 'renewed';
  client: LockStoreClient | undefined;

  open(client: LockStoreClient): LockStoreSession {
    this.client = client;
    const session = new MemoryLockStore().open(client);
    session.renew = async ([request]) => {
      const { delay } = this;
      if (delay > 0) await new Promise((resolve) => void setTimeout(resolve, delay));
      return this.renew(request);
    };
    const release = session.release.bind(session);
    session.release = (request) => {
      this.written.push(`release of ${request.key}`);
      return release(request);
    };
    return session;
  }

  private renew(request: Renew | undefined): RenewReply[] {
    if (this.isAway) throw away;
    this.written.push(request?.exactly === true ? request.lease : 'a renewal');
    return [this.reply];
  }
}

describe('locks that stay taken after their hold (holdAtLeast)', () => {
  let store: Scribe;
  let engine: LockEngine;

  beforeEach(() => {
    jest.useFakeTimers();
    store = new Scribe();
    const start = jest.now();
    engine = new LockEngine(
      store,
      { watchdogTimeout: 30_000, shutdownTimeout: 1_000 },
      { log: () => undefined, warn: () => undefined },
      // In step with the timers.
      { monotonic: () => (jest.now() - start) as MonotonicMs, wall: () => jest.now() as WallClockMs },
    );
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Takes and releases it; what came of that. */
  const use = async (holdAtLeast: number, worksFor: number): Promise<ReleaseOutcome> => {
    const hold = await engine.acquire('k', resolveLockOptions('a test', { holdAtLeast }, 5_000));
    await jest.advanceTimersByTimeAsync(worksFor);
    const releasing = hold.release();
    await jest.advanceTimersByTimeAsync(600);
    return await releasing;
  };
  const ownerOf = (number: number): OwnerId => `${store.client?.id ?? ''}:${String(number)}` as OwnerId;

  it('the store is told how long it has to keep the lock, and to free it at that time', async () => {
    expect(await use(5_000, 1_000)).toBe('released');
    expect(store.written).toEqual([4_000]);
    await jest.advanceTimersByTimeAsync(3_399);
    expect(store.written).toEqual([4_000]);
    await jest.advanceTimersByTimeAsync(1);
    expect(store.written).toEqual([4_000, 'release of k']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('a release after that time is like any other', async () => {
    expect(await use(5_000, 5_000)).toBe('released');
    expect(store.written).toEqual(['release of k']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('what fails is tried again, with what is left by then', async () => {
    store.isAway = true;
    expect(await use(5_000, 1_000)).toBe('unknown');
    store.isAway = false;
    store.client?.pollNow();
    await jest.advanceTimersByTimeAsync(0);
    expect(store.written).toEqual([3_400]);
    await jest.advanceTimersByTimeAsync(3_400);
    expect(store.written).toEqual([3_400, 'release of k']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('B14: a store that stays away is asked no longer than that', async () => {
    store.isAway = true;
    await use(5_000, 1_000);
    await jest.advanceTimersByTimeAsync(10_000);
    store.isAway = false;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(store.written).toEqual(['release of k']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it.each<RenewReply>(['gone', 'taken'])(
    'B15: a lock that is %s was lost before its release',
    async (reply) => {
      store.reply = reply;
      expect(await use(5_000, 1_000)).toBe('expired');
      await jest.advanceTimersByTimeAsync(10_000);
      expect(store.written).toEqual([4_000]);
      expect(jest.getTimerCount()).toBe(0);
    },
  );

  it.each<[RenewReply, ReleaseOutcome, unknown[]]>([
    ['renewed', 'released', [100, 'release of k']],
    ['gone', 'expired', [100]],
  ])('B15: the release at its end does not overtake the request: %s', async (reply, outcome, written) => {
    store.delay = 500;
    store.reply = reply;
    expect(await use(1_000, 900)).toBe(outcome);
    expect(store.written).toEqual(written);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('B15: a hold whose end was asked for in doubt, and which is gone by then, was released', async () => {
    store.delay = 30;
    store.isAway = true;
    const hold = await engine.acquire('k', resolveLockOptions('a test', { holdAtLeast: 1_000 }, 5_000));
    await jest.advanceTimersByTimeAsync(900);
    const releasing = hold.release();
    await jest.advanceTimersByTimeAsync(30);
    Object.assign(store, { isAway: false, reply: 'gone' });
    await jest.advanceTimersByTimeAsync(600);
    expect(await releasing).toBe('released');
    expect(store.written).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('B60, B14: a request that outlasts the shutdown has nothing released after it', async () => {
    store.delay = 20_000;
    const hold = await engine.acquire('k', resolveLockOptions('a test', { holdAtLeast: 1_000 }, 5_000));
    await jest.advanceTimersByTimeAsync(900);
    void hold.release();
    const closing = engine.close();
    await jest.advanceTimersByTimeAsync(60_000);
    await closing;
    expect(store.written).toEqual([100]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('B14: a lock that was released by force needs no end', async () => {
    await use(60_000, 1_000);
    expect(jest.getTimerCount()).toBe(1);
    store.client?.broken(ownerOf(1));
    expect(jest.getTimerCount()).toBe(0);
    expect(store.written).toEqual([59_000]);
  });

  it('B60, B14: shutdown leaves it to the store, and no timer', async () => {
    await use(60_000, 1_000);
    await engine.close();
    expect(jest.getTimerCount()).toBe(0);
    await jest.advanceTimersByTimeAsync(120_000);
    expect(store.written).toEqual([59_000]);
  });
});
