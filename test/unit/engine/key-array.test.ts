import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import {
  LockTimeoutError,
  LockUnavailableError,
  MemoryLockStore,
  type LockHandle,
  type LockOptions,
} from '../../../lib/index.js';
import {
  LockStoreError,
  type AcquireReply,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
} from '../../../lib/stores/port/index.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { engineOn, fakeClock } from '../../support/engines.js';
import { rejectionOf, stateOf } from '../../support/until.js';

type Ask = () => Promise<AcquireReply>;

const inDoubt = new LockStoreError('no answer', { inDoubt: true, retryable: true });
const dead = new LockStoreError('no reply', { inDoubt: true, retryable: true, unreachable: true });

/** A store in memory that records its requests, and whose replies a test can change. */
class ChangedStore implements LockStore {
  readonly name = 'a store';
  readonly asked: string[] = [];
  /** The number of locks in each renewal. */
  readonly renewals: number[] = [];
  private readonly memory = new MemoryLockStore();
  /** Runs before each request for a lock. */
  meanwhile: (key: string) => Promise<void> | undefined = () => undefined;
  failRenewals = false;
  /** Delays the replies to renewals. */
  renewing: (() => Promise<void>) | undefined;
  /** Delays cancels on their way to the store. */
  cancelling: Promise<void> | undefined;
  /** Changes the outcome of the first request for each lock. */
  twist: ((ask: Ask, key: string) => Promise<AcquireReply>) | undefined;
  private readonly twisted = new Set<string>();

  open(client: LockStoreClient): LockStoreSession {
    const session = this.memory.open(client);
    const { acquire, release, renew } = session;
    session.acquire = async (request) => {
      const { key, wait } = request;
      this.asked.push(wait ? `${key} waits` : key);
      await this.meanwhile(key);
      const ask = async (): Promise<AcquireReply> => await acquire.call(session, request);
      if (this.twist === undefined || this.twisted.has(key)) return await ask();
      this.twisted.add(key);
      return await this.twist(ask, key);
    };
    session.release = async (request) => {
      if (!request.wasGranted) {
        this.asked.push(`cancel ${request.key}${request.inDoubt ? ' in doubt' : ''}`);
        await this.cancelling;
      }
      return await release.call(session, request);
    };
    session.renew = (requests) => {
      this.renewals.push(requests.length);
      if (this.failRenewals) return Promise.reject(inDoubt);
      const reply = Promise.resolve(renew.call(session, requests));
      return this.renewing === undefined ? reply : this.renewing().then(() => reply);
    };
    return session;
  }
}

describe('several keys (B12)', () => {
  let store: ChangedStore;
  let engine: LockEngine;

  const newEngine = (): LockEngine => engineOn(store, { shutdownTimeout: 1_000 }, fakeClock);
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'nextTick', 'queueMicrotask'] });
    store = new ChangedStore();
    engine = newEngine();
  });
  afterEach(() => {
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  const options = (some: LockOptions = {}): ReturnType<typeof resolveLockOptions> =>
    resolveLockOptions('a test', some, 5_000);
  const acquire = (keys: readonly string[], some?: LockOptions): Promise<LockHandle> => {
    const handle = engine.acquireAll(keys, options(some));
    // Avoids an unhandled rejection if the test awaits it later.
    handle.catch(() => undefined);
    return handle;
  };
  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
  const isFree = async (...keys: string[]): Promise<void> => {
    for (const key of keys) expect([key, await engine.session.inspect(key)]).toEqual([key, null]);
  };

  it('keys with local holders or waiters, and those behind them, are left out of the first requests', async () => {
    const held = await engine.acquire('c', options());
    store.asked.length = 0;
    expect(await rejectionOf(acquire(['a', 'b', 'c', 'd'], { waitTime: 0 }))).toBeInstanceOf(
      LockTimeoutError,
    );
    expect(store.asked).toEqual(['a', 'b']);
    await held.release();
    await isFree('a', 'b', 'c', 'd');
  });

  it('keys that the caller holds are re-entered separately, and those before them requested in order', async () => {
    const outer = await engine.acquire('b', options());
    store.asked.length = 0;
    await outer.run(async () => {
      const lock = await acquire(['a', 'b', 'c', 'd']);
      expect(store.asked).toEqual(['a waits', 'c', 'd']);
      expect(lock.tokens.get('b')).toBe(outer.token);
      await lock.release();
    });
    expect(outer.isHeld).toBe(true);
    await outer.release();
    await isFree('a', 'b', 'c', 'd');
  });

  it('B11: waitTime that ends during the request for a key names the key if that was held', async () => {
    const held = await newEngine().acquire('b', options());
    store.meanwhile = () => new Promise((resolve) => setTimeout(resolve, 60));
    const failure = rejectionOf(acquire(['a', 'b'], { waitTime: 100 }));
    await pass(500);
    expect(await failure).toMatchObject({ keys: ['b'], message: expect.stringContaining('for the whole') });
    await held.release();
  });

  describe('a request that fails', () => {
    /** The request for this key is carried out, but its reply is lost. */
    const lose = async (ask: Ask, key: string): Promise<AcquireReply> => {
      const reply = await ask();
      if (key === 'b') throw inDoubt;
      return reply;
    };

    it.each<[string, NonNullable<ChangedStore['twist']>]>([
      ['in doubt', lose],
      [
        'with an exception',
        (ask, key) => {
          if (key === 'b') throw new TypeError('broken');
          return ask();
        },
      ],
    ])('%s is cancelled, and the caller still acquires the keys in time', async (_, fail) => {
      store.twist = fail;
      const waiting = acquire(['a', 'b', 'c']);
      await pass(50);
      const lock = await waiting;
      expect(store.asked).toEqual(['a', 'b', 'c', 'cancel b in doubt', 'b waits', 'c waits']);
      expect(lock.isHeld).toBe(true);
      await lock.release();
      await isFree('a', 'b', 'c');
    });

    it('because of a dead connection is repeated by a call with a single attempt', async () => {
      store.twist = async (ask, key) => {
        if (key !== 'b') return await ask();
        throw dead;
      };
      const lock = await acquire(['a', 'b'], { waitTime: 0 });
      expect(store.asked).toEqual(['a', 'b', 'cancel b in doubt', 'b']);
      await lock.release();
    });

    it('because of a dead connection is not repeated once the call was aborted', async () => {
      const stop = new AbortController();
      store.twist = async () => {
        stop.abort(dead);
        throw dead;
      };
      expect(await rejectionOf(acquire(['a', 'b'], { waitTime: 0, signal: stop.signal }))).toBe(dead);
      await pass(50);
      expect(store.asked).toEqual(['a', 'b', 'cancel a in doubt', 'cancel b in doubt']);
    });
  });

  describe('a late reply', () => {
    let answer: () => void = () => undefined;
    beforeEach(() => {
      const arrived = new Promise<void>((resolve) => {
        answer = resolve;
      });
      store.twist = async (ask) => {
        const reply = await ask();
        await arrived;
        return reply;
      };
    });

    it('B10, B11: is not awaited beyond waitTime, and its grants are released', async () => {
      const waiting = acquire(['a', 'b'], { waitTime: 200 });
      await pass(199);
      expect(await stateOf(waiting)).toBe('pending');
      await pass(50);
      expect(await stateOf(waiting)).toBe('rejected');
      expect(await rejectionOf(waiting)).toBeInstanceOf(LockUnavailableError);
      answer();
      await pass(50);
      await isFree('a', 'b');
    });

    it('does not start holds on leases that may have expired', async () => {
      const waiting = acquire(['a', 'b'], { leaseTime: 1_000, waitTime: 20_000 });
      await pass(1_500);
      answer();
      await pass(50);
      const lock = await waiting;
      expect(store.asked.filter((each) => !each.startsWith('cancel'))).toEqual(['a', 'b', 'a', 'b']);
      expect(lock.remaining).toBeGreaterThan(900);
      await lock.release();
    });

    it('B10: begins no hold while its request is being cancelled at the end of waitTime', async () => {
      const twist = store.twist;
      store.twist = undefined;
      const held = await newEngine().acquire('a', options());
      const waiting = acquire(['a', 'b', 'c'], { waitTime: 200 });
      await pass(10);
      store.twist = twist;
      await held.release();
      const types: string[] = [];
      engine.hub.events.subscribe(({ type }) => types.push(type));
      let arrive: () => void = () => undefined;
      store.cancelling = new Promise((resolve) => {
        arrive = resolve;
      });
      await pass(195);
      answer();
      await pass(1);
      arrive();
      await pass(50);
      expect(await rejectionOf(waiting)).toBeInstanceOf(LockTimeoutError);
      // The claim and the end of "a", and nothing of the others.
      expect(types).toEqual(['renewed', 'released', 'timeout']);
      await isFree('a', 'b', 'c');
    });
  });

  it('F24: an abort by a listener of a granted event leaves nothing behind', async () => {
    const abort = new AbortController();
    engine.hub.events.subscribe(({ type }) => {
      if (type === 'granted') abort.abort('too late');
    });
    const outcome = acquire(['a', 'b'], { signal: abort.signal });
    expect(await rejectionOf(outcome)).toBe('too late');
    await pass(10);
    await isFree('a', 'b');
  });

  it('B20: acquired keys are renewed together while the call waits for others, and once all are acquired', async () => {
    const keys = Array.from({ length: 1_000 }, (_, index) => String(index).padStart(4, '0'));
    const other = newEngine();
    const held = await other.acquire('0999', options());
    const waiting = acquire(keys, { leaseTime: 900, waitTime: 60_000 });
    await pass(6_100);
    // 999 keys in two requests, after each third of the lease.
    expect(store.renewals.length).toBeLessThanOrEqual(2 * 22);
    expect(store.renewals.filter((count) => count === 500).length).toBeGreaterThanOrEqual(20);
    store.renewals.length = 0;
    await held.release();
    await pass(10);
    const lock = await waiting;
    // The last key was pushed, so its renewal is the claim.
    expect(store.renewals).toEqual([500, 499, 1]);
    expect(lock.remaining).toBeGreaterThan(850);
    store.renewals.length = 0;
    await lock.extend(2_000);
    expect(store.renewals).toEqual([500, 500]);
    expect(lock.remaining).toBeGreaterThan(1_900);
    await lock.release();
  });

  it('B10, B11: a final renewal that fails is retried until waitTime ends', async () => {
    const other = newEngine();
    const held = await other.acquire('b', options());
    const waiting = acquire(['a', 'b'], { leaseTime: 10_000, waitTime: 1_000 });
    await pass(300);
    store.failRenewals = true;
    await held.release();
    await pass(600);
    expect(await stateOf(waiting)).toBe('pending');
    await pass(100 + 50);
    expect(await rejectionOf(waiting)).toBeInstanceOf(LockUnavailableError);
    await isFree('a', 'b');
    store.failRenewals = false;
  });

  it('B11: a final renewal whose reply takes longer than the rest of waitTime is a timeout: the store replies', async () => {
    const other = newEngine();
    const held = await other.acquire('b', options());
    const waiting = acquire(['a', 'b'], { leaseTime: 10_000, waitTime: 1_000 });
    await pass(900);
    store.renewing = () => new Promise((resolve) => setTimeout(resolve, 150));
    await held.release();
    await pass(200);
    const error = await rejectionOf(waiting);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect((error as Error).message).toContain('it is one of 2 keys');
    store.renewing = undefined;
    await pass(200);
    await isFree('a', 'b');
  });

  it('B11: an earlier failure is the cause if the last attempt is still pending when waitTime ends', async () => {
    const noReplicas = new LockStoreError('not enough replicas', { inDoubt: false, retryable: true });
    store.twist = () => {
      store.meanwhile = () => new Promise((resolve) => setTimeout(resolve, 10_000));
      return Promise.reject(noReplicas);
    };
    const waiting = acquire(['a', 'b'], { waitTime: 200 });
    await pass(300);
    const error = await rejectionOf(waiting);
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect((error as Error).cause).toBe(noReplicas);
    await pass(10_000);
    await isFree('a', 'b');
  });

  describe('a key that is lost while another is requested', () => {
    /** The number of losses. */
    let times: number;
    beforeEach(() => {
      const other = newEngine();
      times = 1;
      let count = 0;
      store.meanwhile = (key) => (key === 'b' && count++ < times ? breakFirst() : undefined);
      const breakFirst = async (): Promise<void> => {
        // By then it is held; and then its holder is notified.
        await new Promise((resolve) => setImmediate(resolve));
        await other.session.breakHold('a');
        await new Promise((resolve) => setImmediate(resolve));
      };
    });

    it('B10, B12: is acquired again even by a call with waitTime 0, since the loss does not mean that the lock is held', async () => {
      const lock = await acquire(['a', 'b'], { waitTime: 0 });
      expect(lock.isHeld).toBe(true);
      await lock.release();
      await isFree('a', 'b');
    });

    it('B10, B12: ends a call with waitTime 0 when it is lost again', async () => {
      times = 2;
      const error = await rejectionOf(acquire(['a', 'b'], { waitTime: 0 }));
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ keys: ['a'] });
      expect((error as Error).message).toContain('lost again before all keys were acquired');
      await isFree('a', 'b');
    });
  });
});
