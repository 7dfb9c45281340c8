import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { MemoryLockStore } from '../../../lib/index.js';
import {
  LockStoreError,
  type LockStore,
  type LockStoreSession,
  type RenewRequest,
} from '../../../lib/stores/port/index.js';
import { engineOn, fakeClock } from '../../support/engines.js';

/** A memory store that records renewal requests. */
class WatchedStore implements LockStore {
  readonly name = 'a watched store';
  readonly renewals: (readonly RenewRequest[])[] = [];
  failing: (key: string) => LockStoreError | undefined = () => undefined;
  longestUnrenewed: number | undefined;
  private readonly memory = new MemoryLockStore();

  open(...args: Parameters<LockStore['open']>): LockStoreSession {
    const session = this.memory.open(...args);
    const renew = session.renew.bind(session);
    session.renew = async (requests) => {
      this.renewals.push(requests);
      const replies = await renew(requests);
      return replies.map((reply, index) => this.failing(requests[index]?.key ?? '') ?? reply);
    };
    const longest = (): number | undefined => this.longestUnrenewed;
    return Object.defineProperty(session, 'longestUnrenewed', { get: longest });
  }
}

const options = resolveLockOptions('a test', {}, 0);

describe('the watchdog', () => {
  let store: WatchedStore;
  let engine: LockEngine;

  beforeEach(() => {
    jest.useFakeTimers();
    store = new WatchedStore();
    engine = engineOn(store, {}, fakeClock);
  });
  afterEach(async () => {
    await engine.close();
    jest.useRealTimers();
  });

  it('B21: serves 10 000 holds with one timer and requests in batches', async () => {
    const holds = await Promise.all(
      Array.from({ length: 10_000 }, async (_, index) => await engine.acquire(`key-${index}`, options)),
    );
    // One for the renewals and one for the deadlines.
    expect(jest.getTimerCount()).toBeLessThanOrEqual(2);
    await jest.advanceTimersByTimeAsync(10_500);
    expect(store.renewals.flat()).toHaveLength(10_000);
    expect(store.renewals.length).toBeLessThanOrEqual(40);
    expect(holds.every((hold) => hold.isHeld)).toBe(true);
    await Promise.all(holds.map(async (hold) => await hold.release()));
    expect(jest.getTimerCount()).toBe(0);
  });

  it('B20: renews leases that the store keeps for less than their time, and relies only on that', async () => {
    store.longestUnrenewed = 6_000;
    const [fixed, watched] = await Promise.all([
      engine.acquire('fixed', { ...options, leaseTime: 60_000 }),
      engine.acquire('watched', options),
    ]);
    for (let seconds = 0; seconds < 59; seconds += 1) {
      for (const { remaining } of [fixed, watched]) expect(remaining).toBeLessThan(6_000);
      await jest.advanceTimersByTimeAsync(1_000);
      expect(fixed.isHeld && watched.isHeld).toBe(true);
    }
    expect(store.renewals.length).toBeLessThanOrEqual(31);
    await jest.advanceTimersByTimeAsync(1_000);
    expect([fixed.isHeld, watched.isHeld]).toEqual([false, true]);
    expect(fixed.lostError).toMatchObject({
      reason: 'expired',
      message: expect.stringContaining('leaseTime of 60000 ms') as unknown,
    });
    store.failing = () => new LockStoreError('it is away', { inDoubt: true, retryable: true });
    await jest.advanceTimersByTimeAsync(6_000);
    expect(watched.isHeld).toBe(false);
  });

  it('B23: a long leaseTime is lost without contact to a store that keeps leases for less', async () => {
    store.longestUnrenewed = 6_000;
    const hold = await engine.acquire('key', { ...options, leaseTime: 60_000 });
    await jest.advanceTimersByTimeAsync(10_000);
    store.failing = () => new LockStoreError('it is away', { inDoubt: true, retryable: true });
    await jest.advanceTimersByTimeAsync(6_000);
    expect(hold.isHeld).toBe(false);
    expect(hold.lostError).toMatchObject({ reason: 'unreachable' });
  });

  it('B20: a leaseTime extended beyond what the store keeps is renewed until its end', async () => {
    store.longestUnrenewed = 6_000;
    const hold = await engine.acquire('key', { ...options, leaseTime: 1_000 });
    await jest.advanceTimersByTimeAsync(500);
    await hold.extend(20_000);
    await jest.advanceTimersByTimeAsync(19_000);
    expect(hold.isHeld).toBe(true);
    await jest.advanceTimersByTimeAsync(1_500);
    expect(hold.isHeld).toBe(false);
  });

  it('B22: a failed renewal affects no other hold of its batch', async () => {
    const failure = new LockStoreError('half of it is away', { inDoubt: true, retryable: true });
    store.failing = (key) => (key === 'bad' ? failure : undefined);
    const [good, bad] = await Promise.all([engine.acquire('good', options), engine.acquire('bad', options)]);
    await jest.advanceTimersByTimeAsync(29_900);
    expect(good.isHeld).toBe(true);
    expect(bad.isHeld).toBe(false);
    expect(bad.signal.reason).toMatchObject({ reason: 'unreachable', cause: failure });
    await good.release();
  });
});
