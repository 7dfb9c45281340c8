import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../../lib/index.js';
import { LockStoreError, type LockStore, type ReleaseReply } from '../../../lib/stores/port/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { LockApp } from '../../support/lock-app.js';
import { elapse } from '../../support/until.js';

inVirtualTime();

const apps: LockApp[] = [];
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

type Release = () => Promise<ReleaseReply>;

/** A store in memory whose releases a test delays or fails. */
function memoryStore(change: (release: Release) => Promise<ReleaseReply>): LockStore {
  const real = new MemoryLockStore();
  return {
    name: 'memory',
    open: (client) => {
      const session = real.open(client);
      const release = session.release.bind(session);
      session.release = (request) => change(async () => await release(request));
      return session;
    },
  };
}

const away = (): LockStoreError =>
  new LockStoreError('away', { inDoubt: false, retryable: true, unreachable: true });

describe('a release that can only be sent long after the hold has ended', () => {
  it('B23: reports that the store had lost the lock', async () => {
    let isAway = true;
    const store = memoryStore(async (release) => {
      // The lock is gone, and nobody has been told.
      const reply = await release();
      if (isAway) throw away();
      return reply;
    });
    const app = await LockApp.start({ store, shutdownTimeout: 0 });
    apps.push(app);
    const lock = await app.locks.acquire('key');
    expect(await lock.release()).toBe('unknown');
    expect(app.events('lost')).toEqual([]);
    await elapse(2_000);
    isAway = false;
    await elapse(2_000);
    expect(app.events('lost')).toHaveLength(1);
    expect(lock.signal.aborted).toBe(true);
  });

  it('B23: reports no loss if the lease may have ended by itself by then', async () => {
    let isAway = true;
    const store = memoryStore((release) => (isAway ? Promise.reject(away()) : release()));
    const app = await LockApp.start({ store, shutdownTimeout: 0 });
    apps.push(app);
    const lock = await app.locks.acquire('key', { leaseTime: 1_500 });
    expect(await lock.release()).toBe('unknown');
    await elapse(2_000);
    isAway = false;
    await elapse(2_000);
    expect(app.events('lost')).toEqual([]);
    expect(await app.locks.isLocked('key')).toBe(false);
  });

  it('B23: reports no loss if the request was under way while the lease ended', async () => {
    const store = memoryStore(async (release) => {
      await elapse(2_000);
      return await release();
    });
    const app = await LockApp.start({ store });
    apps.push(app);
    const lock = await app.locks.acquire('key', { leaseTime: 1_500 });
    const outcome = lock.release();
    await elapse(3_000);
    expect(await outcome).toBe('expired');
    expect(app.events('lost')).toEqual([]);
    expect(lock.signal.aborted).toBe(false);
  });
});
