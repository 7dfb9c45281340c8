import { describe, expect, it } from '@jest/globals';
import { LockEngine } from '../../../../lib/engine/lock-engine.js';
import {
  LockService,
  LockUnavailableError,
  MemoryLockStore,
  type LockHandle,
} from '../../../../lib/index.js';
import { LockStoreError, type LockStore } from '../../../../lib/stores/port/index.js';
import { FallbackLockStore } from '../../../../lib/stores/fallback/fallback-lock-store.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { changedStore, type Requests } from '../../../support/changed-store.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { lockApps, queuedIn } from '../../../support/lock-app.js';
import { withUncaughtCollected } from '../../../support/uncaught.js';
import { elapse, next, rejectionOf, stateOf, within } from '../../../support/until.js';

inVirtualTime();

/** Results of a badly written store, which ignores the types of the port. */
type Misbehaviour = Partial<Record<keyof Requests, () => unknown>>;

describe('a user-defined store', () => {
  const startApp = lockApps({ shutdownTimeout: 0 });
  const start = (store: LockStore, watchdogTimeout = 3_000) => startApp({ store, watchdogTimeout });

  it.each([
    ['by itself', (store: LockStore) => store],
    ['behind a fallback', (store: LockStore) => new FallbackLockStore(store)],
    ['as each member of a quorum', (store: LockStore) => new QuorumLockStore([store, store, store])],
  ])('P22: delays callers only for requests about their own keys: %s', async (_, wrapped) => {
    const memory = new MemoryLockStore();
    let sent = (): void => undefined;
    const unsent = new Promise<void>((resolve) => (sent = resolve));
    const store: LockStore = {
      name: 'a store of the user',
      open: (client) =>
        Object.assign(memory.open({ ...client }), {
          whenSent: (key: string) => (key === 'stuck' ? unsent : undefined),
        }),
    };
    const app = await start(wrapped(store));
    const works = ['stuck', ['a', 'stuck', 'b']].map((key) => app.locks.withLock(key, () => undefined));
    const others = ['free', ['free', 'too']].map((key) => app.locks.withLock(key, () => 'value'));
    expect(await within(10_000, 'the others', Promise.all(others))).toEqual(['value', 'value']);
    for (const work of works) expect(await stateOf(work)).toBe('pending');
    sent();
    await within(10_000, 'all', Promise.all(works));
  });

  describe('that misbehaves', () => {
    const fail = (error: unknown) => (): never => {
      throw error;
    };
    const reject = (error: unknown) => (): Promise<never> =>
      Promise.resolve().then(() => {
        throw error;
      });

    const badAsks: Record<string, () => unknown> = {
      'throws synchronously': fail(new TypeError('not a promise')),
      'replies with undefined': () => Promise.resolve(undefined),
      'rejects with a string': reject('a string'),
      'rejects with nothing': reject(undefined),
      'rejects with a plain error': reject(new Error('socket hang up')),
      'grants without a token': () => Promise.resolve({ outcome: 'granted', token: NaN, since: 1 }),
    };
    for (const [what, ask] of Object.entries(badAsks)) {
      it(`B11, B14: a request for a lock that ${what} is an unavailable store`, async () => {
        const uncaught = await withUncaughtCollected(async () => {
          const app = await start(changedStore(() => ({ acquire: ask as Requests['acquire'] })));
          const waiting = rejectionOf(app.locks.acquire('key', { waitTime: 200 }));
          expect(await within(1_000, 'the wait', waiting)).toBeInstanceOf(LockUnavailableError);
          const trying = rejectionOf(app.locks.tryAcquire('key'));
          expect(await within(1_000, 'the single attempt', trying)).toBeInstanceOf(LockUnavailableError);
          await within(3_000, 'the end', app.close());
        });
        expect(uncaught).toEqual([]);
      });
    }

    const badEnds: Record<string, Misbehaviour> = {
      'throws synchronously on release': { release: fail(new Error('no')) },
      'rejects a release with nothing': { release: reject(undefined) },
      'replies to a release with undefined': { release: () => Promise.resolve(undefined) },
      'throws synchronously on renewal': { renew: fail(new Error('no')) },
      'replies to a renewal with undefined': { renew: () => Promise.resolve(undefined) },
      'replies to too few renewals': { renew: () => Promise.resolve([]) },
    };
    for (const [what, misbehaviour] of Object.entries(badEnds)) {
      it(`B27, B14: a store that ${what} changes no outcome of the work`, async () => {
        const uncaught = await withUncaughtCollected(async () => {
          const app = await start(
            changedStore(() => misbehaviour as Partial<Requests>),
            300,
          );
          const renewed = (): Promise<number> => elapse(200, 7);
          expect(await within(2_000, 'the value', app.locks.withLock('value', renewed))).toBe(7);
          const error = new Error('of the work');
          const failing = app.locks.withLock('error', () => Promise.reject(error));
          expect(await within(2_000, 'the error', rejectionOf(failing))).toBe(error);
          // A wait that times out: its queue position is cancelled.
          await app.locks.acquire('held');
          const waiting = rejectionOf(app.locks.acquire('held', { waitTime: 30 }));
          await within(1_000, 'the end of the wait', waiting);
          await within(4_000, 'the end', app.close());
        });
        expect(uncaught).toEqual([]);
      });
    }

    it('B16: a store that reserves invalid tokens does not pass them on', async () => {
      let reserved = 0;
      const app = await start(
        changedStore(() => ({
          reserve: () => {
            reserved += 1;
            return Promise.resolve({ outcome: 'reserved', token: NaN, othersWait: false });
          },
        })),
      );
      const calls = Array.from({ length: 200 }, () => app.locks.withLock('key', ({ token }) => token));
      const tokens = await within(10_000, 'all', Promise.all(calls));
      expect(reserved).toBeGreaterThan(0);
      expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
      expect(tokens.filter((token) => !Number.isSafeInteger(token))).toEqual([]);
    });

    it('B22: a renewal without a reply for its owner has failed', async () => {
      const app = await start(
        changedStore(() => ({ renew: () => Promise.resolve([]) })),
        300,
      );
      const hold = await app.locks.acquire('key');
      const failed = await next(app.locks.events, ({ type }) => type === 'renewal-failed');
      expect(failed).toMatchObject({ key: 'key', error: { retryable: true } });
      expect(app.admin.status()).toMatchObject({ renewalsFailing: 1, store: { reachable: false } });
      await next(app.locks.events, ({ type }) => type === 'lost');
      expect(hold.signal.reason).toMatchObject({ reason: 'unreachable' });
    });

    it('B14: a listener that requests the lock again when the store is unavailable does not spin', async () => {
      let asked = 0;
      const refusal = new LockStoreError('refused', { inDoubt: false, retryable: false });
      const app = await start(
        changedStore(() => ({
          acquire: () => {
            asked += 1;
            return Promise.reject(refusal);
          },
        })),
      );
      let eventCount = 0;
      app.locks.events.subscribe(({ type }) => {
        eventCount += 1;
        // Ends the loop if the listener does spin.
        if (type === 'unavailable' && eventCount < 5_000) app.locks.acquire('key').catch(() => undefined);
      });
      expect(await rejectionOf(app.locks.acquire('key'))).toBeInstanceOf(LockUnavailableError);
      await elapse(100);
      expect(eventCount).toBeLessThan(30);
      expect(asked).toBeLessThan(30);
    });
  });

  it('B11: a lock freed while the cancel of a wait is under way can be acquired at once', async () => {
    const replied = new AbortController();
    const cancelled = new AbortController();
    const store = changedStore(({ release }) => ({
      release: async (request) => {
        const reply = await release(request);
        if (request.wasGranted) return reply;
        cancelled.abort();
        // The reply arrives when the test allows it.
        await new Promise((resolve) => replied.signal.addEventListener('abort', resolve));
        return reply;
      },
    }));
    const [holder, app] = [await start(store), await start(store)];
    const handle = await holder.locks.acquire('key');
    const stop = new AbortController();
    const failing = rejectionOf(app.locks.acquire('key', { signal: stop.signal }));
    await queuedIn(app, 'key');
    const withdrawn = new Promise((resolve) => cancelled.signal.addEventListener('abort', resolve));
    stop.abort();
    await failing;
    await withdrawn;
    await handle.release();
    const tried = await app.locks.tryAcquire('key');
    expect(tried).not.toBeNull();
    const waiting = app.locks.acquire('key', { waitTime: 2_000 });
    await tried?.release();
    await (await within(1_000, 'a newcomer', waiting)).release();
    replied.abort();
  });

  it('B52: a wait for re-entry that is aborted as the outer hold ends rejects with the reason of its signal', async () => {
    const app = await start(new MemoryLockStore());
    const handle = await app.locks.acquire('key');
    const stop = new AbortController();
    const reason = new Error('stopped by the test');
    let failing: Promise<unknown> | undefined;
    let inner: LockHandle | undefined;
    await handle.run(async () => {
      inner = await app.locks.acquire('key');
      failing = rejectionOf(app.locks.acquire('key', { signal: stop.signal, waitTime: 1_000 }));
      await elapse(1);
      const released = handle.release();
      stop.abort(reason);
      await released;
    });
    expect(await within(2_000, 'the wait', failing ?? Promise.resolve())).toBe(reason);
    expect(await inner?.release()).toBe('released');
    expect(await app.locks.isLocked('key')).toBe(false);
  });

  it('F26: a logger that throws does not prevent the notification of a loss', async () => {
    const fail = (): never => {
      throw new Error('the disk is full');
    };
    const settings = { watchdogTimeout: 1_000, shutdownTimeout: 100 };
    const uncaught = await withUncaughtCollected(async () => {
      const engine = new LockEngine(new MemoryLockStore(), settings, { log: fail, warn: fail });
      const locks = new LockService(engine, 1_000);
      locks.events.subscribe(fail);
      const aborted = ['first', 'second'].map(async (key, index) => {
        const { signal } = await locks.acquire(key, { leaseTime: 40 * (index + 1) });
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      });
      await within(1_000, 'both losses', Promise.all(aborted));
      expect(await locks.withLock('first', () => 'works on')).toBe('works on');
      await within(2_000, 'the end', engine.close());
    });
    expect(uncaught).toEqual([]);
  });
});
