import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Clock } from '../../../lib/common/clock.js';
import type { Hold } from '../../../lib/engine/hold.js';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { runInScope } from '../../../lib/engine/scope.js';
import {
  LockNotHeldError,
  LockUnavailableError,
  MemoryLockStore,
  type LockEvent,
} from '../../../lib/index.js';
import {
  LockStoreError,
  type LockStore,
  type LockStoreSession,
  type MonotonicMs,
  type RenewRequest,
  type WallClockMs,
} from '../../../lib/stores/port/index.js';
import { engineOn } from '../../support/engines.js';

const HOUR = 3_600_000;

const noAnswer = new LockStoreError('no answer', { inDoubt: true, retryable: true });

/** A memory store that can fail, and records renewals and releases. */
class WatchedStore implements LockStore {
  readonly name = 'a watched store';
  readonly renewals: RenewRequest[] = [];
  readonly releases: string[] = [];
  /** The number of releases whose reply will be lost. */
  lostReplies = 0;
  failure: LockStoreError | undefined;
  /** Called while a reply is under way. */
  onItsWay: () => void = () => undefined;
  session!: LockStoreSession; // set when the engine opens it
  private readonly memory = new MemoryLockStore();

  open(...args: Parameters<LockStore['open']>): LockStoreSession {
    const session = this.memory.open(...args);
    const { acquire, renew, release } = session;
    session.acquire = async (request) => {
      const reply = await acquire.call(session, request);
      this.onItsWay();
      return reply;
    };
    session.renew = async (requests) => {
      this.renewals.push(...requests);
      if (this.failure) throw this.failure;
      const replies = await renew.call(session, requests);
      this.onItsWay();
      return replies;
    };
    session.release = (request) => {
      this.releases.push(request.key);
      const reply = release.call(session, request);
      if (this.lostReplies === 0) return reply;
      this.lostReplies -= 1;
      return reply.then(() => Promise.reject(noAnswer));
    };
    this.session = session;
    return session;
  }
}

const options = resolveLockOptions('a test', {}, 0);

describe('a jump of the wall clock', () => {
  let store: WatchedStore;
  let engine: LockEngine;
  let ahead: number;
  let events: LockEvent[];

  const clock: Clock = {
    monotonic: () => performance.now() as MonotonicMs,
    wall: () => (Date.now() + ahead) as WallClockMs,
  };
  const answered = async (): Promise<unknown> => jest.advanceTimersByTimeAsync(0);
  const lost = (): LockEvent[] => events.filter(({ type }) => type === 'lost');

  function expectUnsure(hold: Hold): void {
    expect(() => hold.assertHeld()).toThrow(LockNotHeldError);
    expect(() => hold.assertHeld()).toThrow('may have expired');
    expect(hold.isHeld).toBe(false);
    expect(hold.remaining).toBe(0);
    expect(hold.lostError).toBeUndefined();
    expect(hold.signal.aborted).toBe(false);
  }

  function expectSure(hold: Hold): void {
    expect(() => hold.assertHeld()).not.toThrow();
    expect(hold.isHeld).toBe(true);
    expect(hold.remaining).toBeGreaterThan(0);
  }

  beforeEach(async () => {
    jest.useFakeTimers();
    ahead = 0;
    events = [];
    store = new WatchedStore();
    engine = engineOn(store, {}, clock);
    engine.hub.events.subscribe((event) => events.push(event));
    await engine.start();
  });
  afterEach(async () => {
    const closed = engine.close();
    await jest.advanceTimersByTimeAsync(2_000);
    await closed;
    jest.useRealTimers();
  });

  it('F30: a timer of the watchdog detects it without any call, and confirms all holds', async () => {
    const first = await engine.acquire('first', options);
    await jest.advanceTimersByTimeAsync(5_000);
    const second = await engine.acquire('second', options);
    const third = await engine.acquire('third', { ...options, leaseTime: 50_000 });
    ahead += HOUR;
    await jest.advanceTimersByTimeAsync(5_100);
    expect(store.renewals.map(({ key }) => key).sort()).toEqual(['first', 'second', 'third']);
    for (const hold of [first, second, third]) expectSure(hold);
  });

  it('F30: the deadline of one lease detects it for another', async () => {
    await engine.acquire('short', { ...options, leaseTime: 1_000 });
    await engine.acquire('long', { ...options, leaseTime: 50_000 });
    ahead += HOUR;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(store.renewals.map(({ key }) => key)).toEqual(['long']);
  });

  it('F30: a renewal that was under way confirms nothing', async () => {
    const hold = await engine.acquire('key', options);
    store.onItsWay = () => {
      ahead += HOUR;
      store.failure = noAnswer;
    };
    await jest.advanceTimersByTimeAsync(10_000);
    // It may have been carried out before the machine was suspended.
    expectUnsure(hold);
    expect(store.renewals).toHaveLength(2);
    store.onItsWay = () => undefined;
    store.failure = undefined;
    await jest.advanceTimersByTimeAsync(100);
    expectSure(hold);
  });

  it('F30: no hold starts on a grant that was under way', async () => {
    store.onItsWay = () => {
      ahead += HOUR;
    };
    // Neither on the first grant nor on that of the second attempt.
    await expect(engine.acquire('key', options)).rejects.toThrow(LockUnavailableError);
    expect(await engine.session.inspect('key')).toBeNull();
    store.onItsWay = () => {
      store.onItsWay = () => undefined;
      ahead += HOUR;
    };
    const hold = await engine.acquire('key', options);
    expectSure(hold);
    await hold.release();
    store.onItsWay = () => {
      store.onItsWay = () => undefined;
      ahead += HOUR;
    };
    const waiting = engine.acquire('key', { ...options, waitTime: 5_000 });
    await jest.advanceTimersByTimeAsync(100);
    expectSure(await waiting);
  });

  it('F30: a lease longer than a small jump stays sure for the rest, and is confirmed by the store', async () => {
    const hold = await engine.acquire('key', options);
    ahead += 10_000;
    expectSure(hold);
    expect(hold.remaining).toBeLessThanOrEqual(19_700);
    await answered();
    expect(store.renewals).toHaveLength(1);
    expect(hold.remaining).toBeGreaterThan(29_600);
    // Like a clock that is slewed.
    ahead += 100;
    expectSure(hold);
    await answered();
    expect(store.renewals).toHaveLength(1);
  });

  it('F30: a short lease is not sure after a small jump', async () => {
    const hold = await engine.acquire('key', { ...options, leaseTime: 100 });
    ahead += 150;
    expectUnsure(hold);
    await answered();
    expectSure(hold);
  });

  it('F30: the confirmation does not lengthen a lease with a leaseTime', async () => {
    const hold = await engine.acquire('key', { ...options, leaseTime: 60_000 });
    await jest.advanceTimersByTimeAsync(10_000);
    ahead += 30_000;
    expect(hold.remaining).toBeLessThanOrEqual(20_000);
    await answered();
    expect(store.renewals).toMatchObject([{ lease: 20_000 }]);
    await jest.advanceTimersByTimeAsync(20_000);
    // Confirmed again when the lease may have expired: the machine was not suspended.
    expectUnsure(hold);
    await answered();
    expect(store.renewals).toMatchObject([{ lease: 20_000 }, { lease: 1 }]);
    expectSure(hold);
    await jest.advanceTimersByTimeAsync(29_300);
    expectSure(hold);
    await jest.advanceTimersByTimeAsync(700);
    expect(lost()).toMatchObject([{ reason: 'expired' }]);
    expect(store.renewals).toHaveLength(2);
  });

  it('F30: a lease that is confirmed in its last moments is sure only for these', async () => {
    const hold = await engine.acquire('key', { ...options, leaseTime: 60_000 });
    // As if the machine had been suspended: the rest is shorter than the margin for clock drift.
    ahead = 59_700;
    expectUnsure(hold);
    await answered();
    expect(hold.remaining).toBeLessThan(300);
  });

  it('F30, P20: a hold is released to the store, and not handed over', async () => {
    const hold = await engine.acquire('key', options);
    const waiting = engine.acquire('key', { ...options, waitTime: 5_000 });
    ahead += HOUR;
    store.failure = noAnswer;
    const outcome = hold.release();
    expect(store.releases).toEqual(['key']);
    expect(await outcome).toBe('released');
    await jest.advanceTimersByTimeAsync(10);
    expectSure(await waiting);
  });

  it('F30, P33: a release in doubt that finds nothing does not report that the hold existed', async () => {
    for (const jump of [0, HOUR]) {
      const hold = await engine.acquire('key', options);
      await store.session.release({ key: 'key', owner: hold.ticket.owner, wasGranted: true, inDoubt: false });
      ahead += jump;
      store.lostReplies = 1;
      const outcome = hold.release();
      await jest.advanceTimersByTimeAsync(100);
      expect(await outcome).toBe(jump === 0 ? 'released' : 'expired');
    }
  });

  it('F30, P12: the claim of a grant that was pushed still sets the whole leaseTime', async () => {
    const other = engineOn(store, {}, clock);
    await other.start();
    const first = await engine.acquire('key', options);
    const waiting = other.acquire('key', { ...options, waitTime: 5_000, leaseTime: 60_000 });
    await jest.advanceTimersByTimeAsync(100);
    other.hub.events.subscribe(({ type }) => {
      if (type === 'granted') ahead += HOUR;
    });
    await first.release();
    await jest.advanceTimersByTimeAsync(1_500);
    const hold = await waiting;
    await answered();
    expect(hold.remaining).toBeGreaterThan(55_000);
    await hold.release();
    const closed = other.close();
    await jest.advanceTimersByTimeAsync(2_000);
    await closed;
  });

  it('F30, B50: re-entry waits for the confirmation', async () => {
    const hold = await engine.acquire('key', options);
    await runInScope(hold, async () => {
      ahead += HOUR;
      const inner = await engine.acquire('key', options);
      expect(inner.token).toBe(hold.token);
      expectSure(inner);
      await inner.release();
      const asked = store.renewals.length;
      ahead += HOUR;
      store.failure = noAnswer;
      await expect(engine.acquire('key', options)).rejects.toThrow(LockUnavailableError);
      store.failure = undefined;
      await engine.session.breakHold('key');
      ahead += HOUR;
      const anew = await engine.acquire('key', options);
      expect(anew.token).toBeGreaterThan(hold.token);
      expect(store.renewals.length).toBeGreaterThan(asked);
      await anew.release();
    });
  });

  it('F30: after extend() by hours a renewal confirms at most the rest by either clock', async () => {
    const hold = await engine.acquire('key', options);
    await hold.extend(2 * HOUR);
    ahead += 1.5 * HOUR;
    expect(hold.isHeld).toBe(true);
    await answered();
    expect(hold.remaining).toBeLessThanOrEqual(0.5 * HOUR);
    expect(hold.remaining).toBeGreaterThan(0.4 * HOUR);
  });
});
