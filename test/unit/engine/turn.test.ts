import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { maxTokens, tokensFor, Turn } from '../../../lib/engine/turn.js';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import {
  LockStoreError,
  type LockStore,
  type LockStoreSession,
  type MonotonicMs,
} from '../../../lib/stores/port/index.js';
import { changedStore } from '../../support/changed-store.js';
import { engineOn, fakeClock } from '../../support/engines.js';
import { SpiedStore } from '../../support/spied-store.js';

const ms = (time: number): MonotonicMs => time as MonotonicMs;

/** A caller without a special wish. */
const anyone = { fair: false, limit: 1, joinedAt: ms(0) };

describe('a turn', () => {
  it('P24: requests tokens by the number of waiters, twice as many per permit since waiters may spread unevenly', () => {
    expect([0, 9, 99].map((callers) => tokensFor(callers, 1))).toEqual([8, 44, maxTokens(1)]);
    expect([0, 1, 9].map((callers) => tokensFor(callers, 10))).toEqual([8, 16, maxTokens(1)]);
    expect([0, 9, 99].map((callers) => tokensFor(callers, Infinity))).toEqual([8, 80, maxTokens(Infinity)]);
  });

  it('P20: ends sooner where a store bounds the turn', () => {
    const turns = new Turn(1, 7, true, ms(0), ms(0), { handOvers: 7, tenure: 10 });
    expect(turns.endsAt).toBe(10);
    expect(turns.mayPass(anyone, ms(9.9))).toBe(true);
    expect(turns.mayPass(anyone, ms(10))).toBe(false);
    let count = 0;
    for (; turns.mayPass(anyone, ms(1)); count++) turns.pass();
    expect(count).toBe(7);
    // No further tokens for this turn.
    expect(turns.mustReserve(anyone, true, ms(1))).toBe(false);
  });

  it('P20: counts hand-overs during the request too', () => {
    const turns = new Turn(1, 64, false, ms(0));
    for (let count = 0; count < 33; count++) turns.pass();
    turns.reserving(ms(0));
    for (let count = 0; count < 31; count++) turns.pass();
    turns.reserved(5_000, 65, false, ms(1));
    let more = 0;
    for (; turns.mayPass(anyone, ms(2)); more++) turns.pass();
    expect(more).toBe(64 - 31);
  });

  it('P20: is reserved early enough, and once', () => {
    const turns = new Turn(1, 64, false, ms(0));
    expect(turns.shouldReserve(anyone, ms(0))).toBe(false);
    // After half of the time.
    expect(turns.shouldReserve(anyone, ms(26))).toBe(true);
    let passed = 0;
    for (; !turns.shouldReserve(anyone, ms(0)); passed++) turns.pass();
    // After many hand-overs, while tokens are left.
    expect(passed).toBeGreaterThan(16);
    expect(turns.mayPass(anyone, ms(0))).toBe(true);
    turns.reserving(ms(0));
    expect(turns.shouldReserve(anyone, ms(49))).toBe(false);
    expect(turns.mustReserve(anyone, true, ms(1))).toBe(false);
    turns.reservationFailed();
    expect(turns.shouldReserve(anyone, ms(0))).toBe(true);
  });

  it('P20: is not reserved while other processes wait, unless tokens run out', () => {
    const turns = new Turn(1, 64, true, ms(0));
    for (let count = 0; count < 63; count++) turns.pass();
    expect(turns.shouldReserve(anyone, ms(49))).toBe(false);
    turns.pass();
    expect(turns.shouldReserve(anyone, ms(49))).toBe(false);
    const few = new Turn(1, 1, true, ms(0));
    few.pass();
    expect(few.shouldReserve(anyone, ms(1))).toBe(true);
    expect(few.mustReserve(anyone, true, ms(1))).toBe(true);
    few.reserving(ms(0));
    expect(few.mustReserve(anyone, true, ms(1))).toBe(false);
  });
});

const options = resolveLockOptions('a test', {}, Infinity);

/** A store in memory whose reservations end like this, or that has none. */
const reserving = (reserve: (() => unknown) | undefined) =>
  changedStore(() => ({ reserve }) as Partial<LockStoreSession>);

describe('callers of one process', () => {
  let engine: LockEngine;
  const start = async (store: LockStore): Promise<void> => {
    engine = engineOn(store, {}, fakeClock);
    await engine.start();
  };
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
  });
  afterEach(async () => {
    await engine.close();
    jest.useRealTimers();
  });

  const serve = async (count: number): Promise<void> => {
    const use = async (): Promise<void> => {
      const hold = await engine.acquire('key', options);
      expect(await hold.release()).toBe('released');
    };
    await Promise.all(Array.from({ length: count }, use));
  };
  /** Resolves when everything that takes no time is done. */
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('P20: are all served by a store without reservations, each with its own grant', async () => {
    const store = new SpiedStore(reserving(undefined));
    await start(store);
    await serve(20);
    expect(store.asked).toHaveLength(20);
  });

  const failure = new LockStoreError('no', { inDoubt: true, retryable: true });
  const misbehaviour: Record<string, () => unknown> = {
    throws: () => {
      throw failure;
    },
    rejects: () => Promise.reject(failure),
    'returns undefined': () => Promise.resolve(undefined),
    'never returns': () => new Promise(() => undefined),
  };
  it.each(Object.entries(misbehaviour))(
    'B14, P20: are all served by a store whose reservation %s',
    async (_, reserve) => {
      await start(reserving(reserve));
      const all = serve(150);
      await jest.advanceTimersByTimeAsync(5_000);
      await all;
    },
  );

  it('P20: do not treat a reservation without a reply as proof that the store is reachable', async () => {
    await start(reserving(() => Promise.resolve(undefined)));
    const first = await engine.acquire('key', options);
    engine.storeReporter.requestEnded(failure);
    const waiting = engine.acquire('key', options);
    await settled();
    expect(engine.storeReporter.status()).toMatchObject({ reachable: false, error: failure });
    await first.release();
    await (await waiting).release();
  });

  it('P34, P20: report the loss when a reservation finds the lock gone', async () => {
    await start(reserving(() => Promise.resolve({ outcome: 'gone' })));
    const first = await engine.acquire('key', options);
    const waiting = engine.acquire('key', options);
    await settled();
    expect(first.isHeld).toBe(false);
    expect(() => {
      first.assertHeld();
    }).toThrow('the store no longer has it');
    expect(await first.release()).toBe('expired');
    await engine.inspector.forceRelease('key');
    await jest.advanceTimersByTimeAsync(3_000);
    await (await waiting).release();
  });
});
