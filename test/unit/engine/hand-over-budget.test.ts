import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Hold } from '../../../lib/engine/holds/hold.js';
import {
  HandOverBudget,
  READER_BLOCK,
  TOKEN_BLOCK,
  tokensFor,
} from '../../../lib/engine/machine/hand-over-budget.js';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { MemoryLockStore } from '../../../lib/index.js';
import {
  LockStoreError,
  type LockStore,
  type LockStoreSession,
  type MonotonicMs,
} from '../../../lib/stores/port/index.js';
import { engineOn, fakeClock } from '../../support/engines.js';

const ms = (time: number): MonotonicMs => time as MonotonicMs;

describe('the hand-over budget', () => {
  it('P24: requests tokens by the number of waiters, twice as many per permit since waiters may spread unevenly', () => {
    expect([0, 9, 99].map((callers) => tokensFor(callers, 1))).toEqual([8, 44, TOKEN_BLOCK]);
    expect([0, 1, 9].map((callers) => tokensFor(callers, 10))).toEqual([8, 16, TOKEN_BLOCK]);
    expect([0, 9, 99].map((callers) => tokensFor(callers, Infinity))).toEqual([8, 80, READER_BLOCK]);
  });

  it('P20: ends sooner where a store bounds the turn', () => {
    const turns = new HandOverBudget(1, 7, true, ms(0), ms(0), 7, 10);
    expect(turns.endsAt).toBe(10);
    expect(turns.mayPass(ms(9.9))).toBe(true);
    expect(turns.mayPass(ms(10))).toBe(false);
    let count = 0;
    for (; turns.mayPass(ms(1)); count++) turns.pass();
    expect(count).toBe(7);
    // No further tokens for this turn.
    expect(turns.isOutOfTokens(false)).toBe(false);
  });

  it('P20: counts hand-overs during the request too', () => {
    const turns = new HandOverBudget(1, 64, false, ms(0));
    for (let count = 0; count < 33; count++) turns.pass();
    turns.reserving(ms(0));
    for (let count = 0; count < 31; count++) turns.pass();
    turns.reserved(5_000, 65, false, ms(1));
    let more = 0;
    for (; turns.mayPass(ms(2)); more++) turns.pass();
    expect(more).toBe(64 - 31);
  });

  it('P20: is reserved early enough, and once', () => {
    const turns = new HandOverBudget(1, 64, false, ms(0));
    expect(turns.shouldReserve(ms(0))).toBe(false);
    // After half of the time.
    expect(turns.shouldReserve(ms(26))).toBe(true);
    let passed = 0;
    for (; !turns.shouldReserve(ms(0)); passed++) turns.pass();
    // After many hand-overs, while tokens are left.
    expect(passed).toBeGreaterThan(16);
    expect(turns.mayPass(ms(0))).toBe(true);
    turns.reserving(ms(0));
    expect(turns.shouldReserve(ms(49))).toBe(false);
    expect(turns.isOutOfTokens(false)).toBe(false);
    turns.reservationFailed();
    expect(turns.shouldReserve(ms(0))).toBe(true);
  });

  it('P20: is not reserved while other processes wait, unless tokens run out', () => {
    const turns = new HandOverBudget(1, 64, true, ms(0));
    for (let count = 0; count < 63; count++) turns.pass();
    expect(turns.shouldReserve(ms(49))).toBe(false);
    turns.pass();
    expect(turns.shouldReserve(ms(49))).toBe(false);
    const few = new HandOverBudget(1, 1, true, ms(0));
    few.pass();
    expect(few.shouldReserve(ms(1))).toBe(true);
    expect(few.isOutOfTokens(false)).toBe(true);
    few.reserving(ms(0));
    expect(few.isOutOfTokens(false)).toBe(false);
  });
});

const options = resolveLockOptions('a test', {}, Infinity);

interface Changes {
  readonly reserve?: LockStoreSession['reserve'] | undefined;
}

/** A memory store that counts requests; a test may replace its reservations. */
class CountingStore implements LockStore {
  readonly name = 'a counting store';
  readonly counts = { acquire: 0, release: 0, reserve: 0 };
  private readonly memory = new MemoryLockStore();

  constructor(private readonly change: (real: LockStoreSession) => Changes = () => ({})) {}

  open(...args: Parameters<LockStore['open']>): LockStoreSession {
    const session = this.memory.open(...args);
    for (const name of ['acquire', 'release', 'reserve'] as const) {
      const real = session[name]?.bind(session) as (request: unknown) => Promise<never>;
      session[name] = (request: unknown) => {
        this.counts[name] += 1;
        return real(request);
      };
    }
    return Object.assign(session, this.change(session));
  }
}

describe('callers of one process', () => {
  const engines: LockEngine[] = [];
  const start = async (store: LockStore): Promise<LockEngine> => {
    const engine = engineOn(store, {}, fakeClock);
    engines.push(engine);
    await engine.start();
    return engine;
  };
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
  });
  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.close()));
    jest.useRealTimers();
  });

  /** A caller that works for `section` ms; its name is added to `served`. */
  async function use(engine: LockEngine, name: string, served: string[], section = 0): Promise<void> {
    const hold: Hold = await engine.acquire('key', options);
    served.push(name);
    if (section > 0) await new Promise((resolve) => setTimeout(resolve, section));
    expect(await hold.release()).toBe('released');
  }
  const several = async (count: number, caller: () => Promise<void>): Promise<void> => {
    await Promise.all(Array.from({ length: count }, caller));
  };
  /** Resolves when everything that takes no time is done. */
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('P20: are all served by a store without reservations, each with its own grant', async () => {
    const store = new CountingStore(() => ({ reserve: undefined }));
    const engine = await start(store);
    const served: string[] = [];
    await several(20, () => use(engine, 'a', served));
    expect(served).toHaveLength(20);
    expect(store.counts).toMatchObject({ acquire: 20, release: 20, reserve: 0 });
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
  for (const [what, reserve] of Object.entries(misbehaviour)) {
    it(`B14, P20: are all served by a store whose reservation ${what}`, async () => {
      const store = new CountingStore(() => ({ reserve: reserve as LockStoreSession['reserve'] }));
      const engine = await start(store);
      const served: string[] = [];
      const all = several(150, () => use(engine, 'a', served));
      await jest.advanceTimersByTimeAsync(5_000);
      await all;
      expect(served).toHaveLength(150);
    });
  }

  it('P20: do not treat a reservation without a reply as proof that the store is reachable', async () => {
    const store = new CountingStore(() => ({
      reserve: (() => Promise.resolve(undefined)) as unknown as LockStoreSession['reserve'],
    }));
    const engine = await start(store);
    const first = await engine.acquire('key', options);
    engine.storeReporter.requestEnded(failure);
    const waiting = engine.acquire('key', options);
    await settled();
    expect(engine.storeReporter.status()).toMatchObject({ reachable: false, error: failure });
    await first.release();
    await (await waiting).release();
  });

  it('P34, P20: report the loss when a reservation finds the lock gone', async () => {
    let gone = false;
    const store = new CountingStore((real) => {
      const reserve = real.reserve?.bind(real);
      return {
        reserve: (request) =>
          gone || reserve === undefined ? Promise.resolve({ outcome: 'gone' }) : reserve(request),
      };
    });
    const engine = await start(store);
    gone = true;
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
