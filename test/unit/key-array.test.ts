import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LockEngine } from '../../lib/engine/lock-engine.js';
import {
  LockClosedError,
  LockStoreError,
  LockTimeoutError,
  LockUnavailableError,
  MemoryLockStore,
  type Grant,
  type LockHandle,
  type LockOptions,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type MonotonicMs,
  type WallClockMs,
} from '../../lib/index.js';
import { resolveLockOptions } from '../../lib/model/lock.options.js';
import { rejectionOf, stateOf } from '../support/until.js';

type Answer = readonly Grant[] | number | null;
type Ask = () => Promise<Answer>;

const inDoubt = new LockStoreError('no answer', { inDoubt: true, retryable: true });
const refused = new LockStoreError('no permission', { inDoubt: false, retryable: false });

/** A store in memory that can grant several locks at once, writes down what it is asked, and answers as a test wants. */
class JointStore implements LockStore {
  readonly name = 'a store';
  readonly asked: string[] = [];
  readonly renewed: string[] = [];
  /** How many locks each request to renew was about. */
  readonly renewals: number[] = [];
  private readonly memory = new MemoryLockStore();
  /** What happens as it is asked for a lock. */
  meanwhile: (key: string) => Promise<void> | undefined = () => undefined;
  failRenewals = false;
  /** What taking back waits for, on its way to the store. */
  cancelling: Promise<void> | undefined;
  /** What becomes of requests for several locks. */
  twist: (ask: Ask) => Promise<Answer> = (ask) => ask();

  open(client: LockStoreClient): LockStoreSession {
    const session = this.memory.open(client);
    const { acquire, cancel, renew, acquireAll } = session;
    if (acquireAll === undefined) throw new Error('the memory grants several locks at once');
    session.acquire = async (request) => {
      this.asked.push(request.key);
      await this.meanwhile(request.key);
      return await acquire.call(session, request);
    };
    session.cancel = async (request) => {
      this.asked.push(`cancel ${request.key}${request.inDoubt ? ' in doubt' : ''}`);
      await this.cancelling;
      await cancel.call(session, request);
    };
    session.renew = (requests) => {
      this.renewed.push(...requests.map(({ key }) => key));
      this.renewals.push(requests.length);
      if (this.failRenewals) return Promise.reject(inDoubt);
      return renew.call(session, requests);
    };
    session.acquireAll = (requests) => {
      this.asked.push(requests.map(({ key }) => key).join('+'));
      return this.twist(() => acquireAll.call(session, requests));
    };
    return session;
  }
}

describe('several keys in one request (B12)', () => {
  let store: JointStore;
  let engine: LockEngine;

  const newEngine = (): LockEngine => {
    const start = jest.now();
    return new LockEngine(
      store,
      { watchdogTimeout: 30_000, shutdownTimeout: 1_000 },
      { log: () => undefined, warn: () => undefined },
      // In step with the timers.
      { monotonic: () => (jest.now() - start) as MonotonicMs, wall: () => jest.now() as WallClockMs },
    );
  };
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'nextTick', 'queueMicrotask'] });
    store = new JointStore();
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
    // A test that looks at it later is not too late.
    handle.catch(() => undefined);
    return handle;
  };
  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
  const isFree = async (...keys: string[]): Promise<void> => {
    for (const key of keys) expect([key, await engine.session.inspect(key)]).toEqual([key, null]);
  };

  it('a store that can grant several is asked once', async () => {
    const lock = await acquire(['a', 'b', 'c']);
    expect(store.asked).toEqual(['a+b+c']);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe('released');
    await isFree('a', 'b', 'c');
  });

  it('where one is not to be had at once, each is asked for by itself, in order', async () => {
    const other = newEngine();
    const held = await other.acquire('b', options());
    store.asked.length = 0;
    const waiting = acquire(['a', 'b', 'c']);
    await pass(100);
    expect(store.asked).toEqual(['a+b+c', 'a', 'b']);
    await held.release();
    await pass(10);
    const lock = await waiting;
    expect(store.asked).toEqual(['a+b+c', 'a', 'b', 'c']);
    await lock.release();
    await isFree('a', 'b', 'c');
  });

  it('where callers of this process hold or wait for one, they come first', async () => {
    const held = await engine.acquire('c', options());
    store.asked.length = 0;
    expect(await rejectionOf(acquire(['a', 'b', 'c'], { waitTime: 0 }))).toBeInstanceOf(LockTimeoutError);
    expect(store.asked).toEqual(['a+b']);
    await held.release();
    await isFree('a', 'b', 'c');
  });

  it('keys that the caller holds come by themselves, and those before them in order', async () => {
    const outer = await engine.acquire('b', options());
    store.asked.length = 0;
    await outer.run(async () => {
      const lock = await acquire(['a', 'b', 'c', 'd']);
      expect(store.asked).toEqual(['a', 'c+d']);
      expect(lock.tokens.get('b')).toBe(outer.token);
      await lock.release();
    });
    expect(outer.isHeld).toBe(true);
    await outer.release();
    await isFree('a', 'b', 'c', 'd');
  });

  describe('a request that fails', () => {
    /** It is carried out, but the answer does not come. */
    const lose = async (ask: Ask): Promise<Answer> => {
      await ask();
      throw inDoubt;
    };

    it.each<[string, (ask: Ask) => Promise<Answer>]>([
      ['in doubt', lose],
      [
        'with an exception',
        () => {
          throw new TypeError('broken');
        },
      ],
    ])('%s is taken back, key by key, and the caller goes on in time', async (_, fail) => {
      store.twist = fail;
      const waiting = acquire(['a', 'b']);
      await pass(50);
      const lock = await waiting;
      expect(store.asked).toEqual(['a+b', ...['a', 'b'].map((key) => `cancel ${key} in doubt`), 'a', 'b']);
      expect(lock.isHeld).toBe(true);
      await lock.release();
      await isFree('a', 'b');
    });

    it('is the end of the call that tries once', async () => {
      store.twist = lose;
      expect(await rejectionOf(acquire(['a', 'b'], { waitTime: 0 }))).toBeInstanceOf(LockUnavailableError);
      await pass(50);
      await isFree('a', 'b');
    });

    it('for good is the end of any call', async () => {
      store.twist = () => Promise.reject(refused);
      const error = await rejectionOf(acquire(['a', 'b'], { waitTime: Infinity }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect((error as Error).message).toContain('no permission');
      expect(store.asked).toEqual(['a+b']);
    });

    it.each<[string, () => Promise<Answer>]>([
      ['some of the grants only', () => Promise.resolve([{ token: 1, since: 1 as WallClockMs }])],
      ['no list', () => Promise.resolve(7 as unknown as Answer)],
    ])('because the store answers %s is the end of the call, and leaves nothing', async (_, answer) => {
      store.twist = answer;
      expect(await rejectionOf(acquire(['a', 'b']))).toBeInstanceOf(LockUnavailableError);
      await pass(50);
      expect(store.asked).toEqual(expect.arrayContaining(['cancel a in doubt', 'cancel b in doubt']));
    });
  });

  describe('an answer that is late', () => {
    let answer: () => void = () => undefined;
    beforeEach(() => {
      store.twist = (real) =>
        new Promise((resolve) => {
          const grants = real();
          answer = () => {
            resolve(grants);
          };
        });
    });

    it('B10, B11: is not waited for beyond waitTime, and its grants are given back', async () => {
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

    it('B10: begins nothing while what it brings is being taken back', async () => {
      let arrive = (): void => undefined;
      store.cancelling = new Promise((resolve) => {
        arrive = resolve;
      });
      const waiting = acquire(['a', 'b'], { waitTime: 200 });
      await pass(235);
      expect(store.asked).toEqual(['a+b', 'cancel a in doubt', 'cancel b in doubt']);
      expect(await stateOf(waiting)).toBe('pending');
      // Answers come in the order of the requests.
      answer();
      await pass(1);
      arrive();
      await pass(50);
      expect(await rejectionOf(waiting)).toBeInstanceOf(LockUnavailableError);
      await isFree('a', 'b');
    });

    it('is waited for by a call that tries once', async () => {
      const waiting = acquire(['a', 'b'], { waitTime: 0 });
      await pass(3_000);
      expect(await stateOf(waiting)).toBe('pending');
      answer();
      const lock = await waiting;
      expect(lock.isHeld).toBe(true);
      await lock.release();
    });

    it('is not waited for by a call that was aborted, and its grants are given back', async () => {
      const abort = new AbortController();
      const waiting = acquire(['a', 'b'], { signal: abort.signal });
      await pass(10);
      abort.abort('enough');
      expect(await rejectionOf(waiting)).toBe('enough');
      answer();
      await pass(50);
      await isFree('a', 'b');
    });

    it('does not start on leases that may be over', async () => {
      const waiting = acquire(['a', 'b'], { leaseTime: 1_000, waitTime: 20_000 });
      await pass(1_500);
      answer();
      await pass(50);
      const lock = await waiting;
      expect(store.asked.filter((each) => !each.startsWith('cancel'))).toEqual(['a+b', 'a', 'b']);
      expect(lock.remaining).toBeGreaterThan(900);
      await lock.release();
    });

    it('B60: brings nothing to an application that has begun to end', async () => {
      const waiting = acquire(['a', 'b']);
      await pass(10);
      const closed = engine.close();
      answer();
      expect(await rejectionOf(waiting)).toBeInstanceOf(LockClosedError);
      await pass(2_000);
      await closed;
      await isFree('a', 'b');
    });
  });

  it('F24: a listener that aborts the call as it hears of a grant comes too late', async () => {
    const abort = new AbortController();
    engine.hub.events.subscribe(({ type }) => {
      if (type === 'granted') abort.abort('too late');
    });
    const lock = await acquire(['a', 'b'], { signal: abort.signal });
    expect(lock.isHeld).toBe(true);
    await lock.release();
    await isFree('a', 'b');
  });

  it('B20: a leaseTime is prolonged while others are waited for, and no longer', async () => {
    const other = newEngine();
    const held = await other.acquire('b', options());
    const waiting = acquire(['a', 'b'], { leaseTime: 900, waitTime: 60_000 });
    await pass(5_000);
    expect(store.renewed.filter((key) => key === 'a').length).toBeGreaterThanOrEqual(15);
    await held.release();
    await pass(10);
    const lock = await waiting;
    expect(lock.remaining).toBeGreaterThan(850);
    store.renewed.length = 0;
    await pass(870);
    expect(lock.isHeld).toBe(true);
    expect(store.renewed).not.toContain('a');
    await pass(60);
    expect(lock.isHeld).toBe(false);
    await lock.release();
    await isFree('a', 'b');
  });

  it('B20: those that are there are renewed together while others are waited for, and together when all are there', async () => {
    const keys = Array.from({ length: 1_000 }, (_, index) => String(index).padStart(4, '0'));
    const other = newEngine();
    const held = await other.acquire('0999', options());
    const waiting = acquire(keys, { leaseTime: 900, waitTime: 60_000 });
    await pass(6_000);
    // 999 keys in two requests, every third of the lease.
    expect(store.renewals.length).toBeLessThanOrEqual(2 * 22);
    expect(store.renewals.filter((count) => count === 500).length).toBeGreaterThanOrEqual(20);
    store.renewals.length = 0;
    await held.release();
    await pass(10);
    const lock = await waiting;
    // The last one was pushed, and is claimed.
    expect(store.renewals).toEqual([500, 499, 1]);
    expect(lock.remaining).toBeGreaterThan(850);
    store.renewals.length = 0;
    await lock.extend(2_000);
    expect(store.renewals).toEqual([500, 500]);
    expect(lock.remaining).toBeGreaterThan(1_900);
    await lock.release();
  });

  it('B20: a key that has just been granted is not renewed with those that are due', async () => {
    const other = newEngine();
    const [second, last] = [await other.acquire('b', options()), await other.acquire('c', options())];
    const waiting = acquire(['a', 'b', 'c'], { leaseTime: 900, waitTime: 60_000 });
    await pass(250);
    await second.release();
    await pass(80);
    // The claim of what was pushed, and then the one that is due.
    expect(store.renewed).toEqual(['b', 'a']);
    await pass(250);
    // The first one goes along, since it is nearly due.
    expect(store.renewed).toEqual(['b', 'a', 'a', 'b']);
    await last.release();
    await pass(10);
    await (await waiting).release();
  });

  it('B20: keys that were granted with the last one are not renewed for it', async () => {
    const outer = await engine.acquire('a', options());
    await outer.run(async () => {
      const lock = await acquire(['a', 'b', 'c'], { leaseTime: 900 });
      expect(store.asked.at(-1)).toBe('b+c');
      expect(store.renewals).toEqual([]);
      await lock.release();
    });
    await outer.release();
  });

  it('nothing is asked for after the signal was aborted', async () => {
    const abort = new AbortController();
    const waiting = acquire(['a', 'b', 'c'], { signal: abort.signal });
    abort.abort('enough');
    expect(await rejectionOf(waiting)).toBe('enough');
    await pass(100);
    expect(store.asked).toEqual([]);
  });

  it('those before the first that is held are asked for at once, and those after it', async () => {
    const other = newEngine();
    const [b, e] = [await other.acquire('b', options()), await other.acquire('e', options())];
    store.asked.length = 0;
    const waiting = acquire(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    await pass(100);
    await b.release();
    await pass(10);
    await e.release();
    await pass(10);
    await (await waiting).release();
    expect(store.asked).toEqual(['a+b+c+d+e+f+g', 'a', 'b', 'c+d+e+f+g', 'c+d', 'e', 'f+g']);
  });

  it('B10, B11: a renewal that can’t be had when all are there is tried again until waitTime', async () => {
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

  describe('a key that is lost while another is asked for', () => {
    /** How often it is lost. */
    let times: number;
    beforeEach(() => {
      const other = newEngine();
      times = 1;
      let count = 0;
      store.twist = () => Promise.resolve(null);
      store.meanwhile = (key) => (key === 'b' && count++ < times ? breakFirst() : undefined);
      const breakFirst = async (): Promise<void> => {
        await other.session.forceRelease('a');
        // Its holder has heard of it then.
        await new Promise((resolve) => setImmediate(resolve));
      };
    });

    it('B12: is taken once more, after all were given back', async () => {
      const lock = await acquire(['a', 'b']);
      expect(store.asked).toEqual(['a+b', 'a', 'b', 'a+b', 'a', 'b']);
      expect(lock.isHeld).toBe(true);
      await lock.release();
      await isFree('a', 'b');
    });

    it('B10, B12: is taken once more by a call that has no time, too, since that says nothing of the next try', async () => {
      const lock = await acquire(['a', 'b'], { waitTime: 0 });
      expect(lock.isHeld).toBe(true);
      await lock.release();
      await isFree('a', 'b');
    });

    it('B10, B12: ends a call that has no time when it is lost again', async () => {
      times = 2;
      const error = await rejectionOf(acquire(['a', 'b'], { waitTime: 0 }));
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ keys: ['a'] });
      expect((error as Error).message).toContain('lost again before all keys were there');
      await isFree('a', 'b');
    });
  });
});
