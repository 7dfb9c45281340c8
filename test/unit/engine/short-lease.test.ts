import { afterEach, describe, expect, it } from '@jest/globals';
import { backoff, LockUnavailableError, MemoryLockStore } from '../../../lib/index.js';
import type { LockStore } from '../../../lib/stores/port/index.js';
import { QuorumLockStore } from '../../../lib/stores/quorum/quorum-lock-store.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { LockApp } from '../../support/lock-app.js';
import { SlowStore } from '../../support/slow-store.js';
import { elapse, rejectionOf } from '../../support/until.js';

inVirtualTime();

/** Round trip, ms, and a shorter lease. */
const DELAY = 40;
const leaseTime = 30;

const away = (delay = DELAY): LockStore => new SlowStore(new MemoryLockStore(), delay);

describe.each([
  ['a store', () => away()],
  ['a quorum', () => new QuorumLockStore([away(), away(41), away(42)])],
] as const)('a leaseTime of 30 ms on %s with a round trip of 40 ms', (_, open) => {
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  it('B10, B11: fails its own caller only', async () => {
    const app = await LockApp.start({ store: open(), shutdownTimeout: 100 });
    apps.push(app);
    const start = performance.now();
    const short = rejectionOf(app.locks.acquire('key', { leaseTime }));
    const others = [1, 2].map(() => app.locks.withLock('key', () => performance.now() - start));
    const error = await short;
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(/reply took 4\d ms, and the leaseTime of 30 ms had passed/);
    for (const waited of await Promise.all(others)) expect(waited).toBeLessThan(8 * DELAY);
    expect(app.events('timeout')).toEqual([]);
    expect(app.log.matching("can't be acquired")).toEqual([]);
  });

  it.each([
    ['permits', { limit: 2 }],
    ['all permits', { limit: 2, permits: 2 }],
    ['a reader', { mode: 'shared' }],
  ] as const)('B10, B11: fails its own caller only: %s', async (_, options) => {
    const app = await LockApp.start({ store: open(), shutdownTimeout: 100 });
    apps.push(app);
    const start = performance.now();
    // Shorter than the way of a pushed grant, too.
    const short = rejectionOf(app.locks.acquire('key', { ...options, leaseTime: DELAY / 4 }));
    const others = [1, 2].map(() => app.locks.withLock('key', options, () => performance.now() - start));
    expect(String(await short)).toMatch(/reply took \d+ ms, and the leaseTime of 10 ms had passed/);
    for (const waited of await Promise.all(others)) expect(waited).toBeLessThan(12 * DELAY);
  });

  it.each([
    ['waits', 'key', {}],
    ['retries', 'key', { retry: { backoff: backoff.fixed(1) } }],
    ['wants several keys', ['key', 'other'], {}],
  ])(
    'B11: fails with the same error if waitTime ends before a second reply: a call that %s',
    async (_, key, options) => {
      const app = await LockApp.start({ store: open(), shutdownTimeout: 100 });
      apps.push(app);
      const error = await rejectionOf(app.locks.acquire(key, { ...options, leaseTime, waitTime: DELAY + 5 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(String(error)).toMatch(/reply took 4\d ms, and the leaseTime of 30 ms had passed/);
    },
  );

  it('B11: fails with the same error without waiting', async () => {
    const app = await LockApp.start({ store: open(), shutdownTimeout: 100 });
    apps.push(app);
    const error = await rejectionOf(app.locks.tryAcquire('key', { leaseTime }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(/reply took 4\d ms, and the leaseTime of 30 ms had passed/);
  });
});

describe('a leaseTime of 10 ms on a store with a round trip of 40 ms', () => {
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  it.each([
    ['the exclusive lock', {}],
    ['permits', { limit: 2, permits: 2 }],
  ] as const)(
    'B10, B11: fails its own caller only, even if another process contends: %s',
    async (_, options) => {
      const store = away();
      const [app, other] = [
        await LockApp.start({ store, shutdownTimeout: 100 }),
        await LockApp.start({ store, shutdownTimeout: 100 }),
      ];
      apps.push(app, other);
      let isContended = true;
      const contend = async (): Promise<void> => {
        while (isContended) await other.locks.withLock('key', options, () => elapse(5));
      };
      const contending = contend();
      await elapse(3 * DELAY);
      const waitTime = 100 * DELAY;
      // Shorter than the way of a pushed grant, too.
      const leaseTime = DELAY / 4;
      const start = performance.now();
      const short = rejectionOf(app.locks.acquire('key', { ...options, leaseTime, waitTime }));
      const others = [1, 2].map(() =>
        app.locks.withLock('key', { ...options, waitTime }, () => performance.now() - start),
      );
      const error = await short;
      expect(String(error)).toMatch(/reply took \d+ ms, and the leaseTime of 10 ms had passed/);
      for (const waited of await Promise.all(others)) expect(waited).toBeLessThan(waitTime / 2);
      isContended = false;
      await contending;
    },
  );
});
