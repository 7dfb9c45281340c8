import { afterEach, describe, expect, it } from '@jest/globals';
import { LockTimeoutError, MemoryLockStore, type LockOptions } from '../../../lib/index.js';
import { LockStoreError } from '../../../lib/stores/port/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { LockApp } from '../../support/lock-app.js';
import { SpiedStore } from '../../support/spied-store.js';
import { blockEventLoop, rejectionOf, until } from '../../support/until.js';

inVirtualTime();

const apps: LockApp[] = [];
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

describe('a lease that ends during its release', () => {
  it('B20: ends once, and other locks are still renewed', async () => {
    const app = await LockApp.start({ store: 'memory', watchdogTimeout: 3_000, shutdownTimeout: 0 });
    apps.push(app);
    const { locks } = app;
    await locks.withLock('warm', () => undefined);
    const ending = await locks.acquire('ending', { leaseTime: 300 });
    const waiting = rejectionOf(locks.acquire('ending', { waitTime: 50 }));
    const beside = await locks.acquire('beside');
    // The waiter's waitTime has ended, but its timer has not fired yet.
    blockEventLoop(100);
    let blocked = false;
    locks.events.subscribe(({ type }) => {
      if (type !== 'released' || blocked) return;
      blocked = true;
      blockEventLoop(300);
    });
    expect(await ending.release()).toBe('expired');
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
    await until('the lock beside it is renewed', () => app.events('renewed', 'beside').length > 0);
    expect(await beside.release()).toBe('released');
  });
});

describe('a caller that waits for its own process while the store is unreachable', () => {
  it.each([
    ['a reader behind a writer', {}, { mode: 'shared' }, 1],
    ['a caller behind all permits of a semaphore', { limit: 2 }, { limit: 2 }, 2],
  ] as [string, LockOptions, LockOptions, number][])(
    'B11: fails with "held", not "unavailable": %s',
    async (_, holding, wanting, holders) => {
      const store = new SpiedStore(new MemoryLockStore());
      const app = await LockApp.start({ store, shutdownTimeout: 0 });
      apps.push(app);
      for (let held = 0; held < holders; held += 1) await app.locks.acquire('key', holding);
      store.twist = () =>
        new LockStoreError('it is unreachable', { inDoubt: false, retryable: true, unreachable: true });
      const waiting = rejectionOf(app.locks.acquire('key', { ...wanting, waitTime: 300 }));
      expect(await waiting).toBeInstanceOf(LockTimeoutError);
    },
  );
});
