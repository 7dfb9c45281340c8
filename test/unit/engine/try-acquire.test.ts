import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError } from '../../../lib/index.js';
import type { AcquireReply, LockStore } from '../../../lib/stores/port/index.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { changedStore } from '../../support/changed-store.js';
import { engineOn } from '../../support/engines.js';
import { LockApp, lockApps } from '../../support/lock-app.js';
import { rejectionOf } from '../../support/until.js';

/** A store that cancels the first `count` requests. */
function cancelling(count: number): LockStore {
  let left = count;
  const cancelled: AcquireReply = { outcome: 'cancelled' };
  return changedStore(({ acquire }) => ({
    acquire: (request) => (left-- > 0 ? Promise.resolve(cancelled) : acquire(request)),
  }));
}

describe('a call that its signal ends', () => {
  it.each([0, 1_000])(
    'rejects with the reason as it is, whatever that is (waitTime %s)',
    async (waitTime) => {
      const app = await LockApp.start({ store: 'memory', shutdownTimeout: 0 });
      const held = await app.locks.acquire('k');
      const timeout = (await rejectionOf(app.locks.acquire('k', { waitTime: 0 }))) as LockTimeoutError;
      const reasons = [
        timeout,
        Object.freeze(new LockTimeoutError('frozen', { keys: ['k'], waitedFor: 1 })),
        'text',
        7,
      ];
      for (const reason of reasons) {
        const stack = reason instanceof Error ? reason.stack : undefined;
        for (const call of ['acquire', 'tryAcquire', 'withLock', 'run'] as const) {
          const stop = new AbortController();
          const options = { waitTime, signal: stop.signal };
          if (waitTime === 0) stop.abort(reason);
          const calls = {
            acquire: () => app.locks.acquire('k', options),
            tryAcquire: () => app.locks.tryAcquire(['j', 'k'], options),
            withLock: () => app.locks.withLock('k', options, () => undefined),
            run: () => held.run(() => app.locks.acquire('k', { ...options, reentrant: false })),
          };
          const ended = rejectionOf(calls[call]());
          await new Promise((resolve) => setImmediate(resolve));
          stop.abort(reason);
          expect(await ended).toBe(reason);
        }
        if (reason instanceof Error) expect(reason.stack).toBe(stack);
      }
      expect(app.events('timeout')).toHaveLength(1);
      await held.release();
      await app.close();
    },
  );
});

describe('a single attempt whose reply is unusable', () => {
  it.each([{ outcome: 'granted', token: NaN, since: 0 }, undefined])(
    'B16: fails, and its owner is withdrawn: %j',
    async (reply) => {
      const released: string[] = [];
      const store = changedStore(({ release }) => ({
        acquire: () => Promise.resolve(reply as unknown as AcquireReply),
        release: (request) => {
          released.push(request.owner);
          return release(request);
        },
      }));
      const engine = engineOn(store);
      await engine.start();
      const call = engine.acquire('k', resolveLockOptions('a test', {}, 0));
      expect(await rejectionOf(call)).toBeInstanceOf(LockUnavailableError);
      expect(released).toHaveLength(1);
      expect(engine.tickets.byOwner.size).toBe(0);
      await engine.close();
    },
  );
});

describe('a single attempt whose request the store cancels', () => {
  const start = lockApps({ shutdownTimeout: 0 });

  it('B11: is repeated once', async () => {
    const { locks } = await start({ store: cancelling(1) });
    const handle = await locks.tryAcquire('key');
    expect(handle?.isHeld).toBe(true);
    expect(await handle?.release()).toBe('released');
  });

  it('B11: fails with "unavailable", not with "held"', async () => {
    const { locks, ...app } = await start({ store: cancelling(Infinity) });
    expect(await rejectionOf(locks.tryAcquire('key'))).toBeInstanceOf(LockUnavailableError);
    const retry = { maxAttempts: 2 };
    expect(await rejectionOf(locks.acquire('key', { waitTime: 500, retry }))).toBeInstanceOf(
      LockUnavailableError,
    );
    expect(app.seen.map(({ type }) => type)).toEqual(['unavailable', 'unavailable']);
  });
});

describe('a waiting call whose requests the store cancels', () => {
  const start = lockApps({ shutdownTimeout: 0 });

  it('B10: requests the lock again at once, and then with pauses, so that its time can end', async () => {
    const { locks } = await start({ store: cancelling(1_000) });
    expect(await rejectionOf(locks.acquire('key', { waitTime: 100 }))).toBeInstanceOf(LockUnavailableError);
  });
});

describe('attempts whose callers have left', () => {
  it('cost the next attempts of their key no more time, however many there are', async () => {
    /** Processor time, ms. */
    const timeFor = async (count: number): Promise<number> => {
      let reply: () => void = () => undefined;
      const replied = new Promise<void>((resolve) => (reply = resolve));
      const store = changedStore(({ acquire }) => ({
        acquire: async (request) => {
          await replied;
          return await acquire(request);
        },
      }));
      const app = await LockApp.start({ store, shutdownTimeout: 0 });
      const before = process.cpuUsage();
      const calls = Array.from({ length: count }, async () => {
        const stop = new AbortController();
        const call = rejectionOf(app.locks.acquire('k', { waitTime: 0, signal: stop.signal }));
        await new Promise((resolve) => setImmediate(resolve));
        stop.abort('enough');
        return await call;
      });
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['enough']));
      const rest = Array.from({ length: count }, () => app.locks.tryAcquire('k'));
      reply();
      await Promise.all(rest);
      const { user, system } = process.cpuUsage(before);
      await app.close();
      return (user + system) / 1_000;
    };
    await timeFor(100);
    const [few, many] = [await timeFor(500), await timeFor(4_000)];
    // Eight times as many; the square of that would be 64.
    expect(many / few).toBeLessThan(24);
  });
});
