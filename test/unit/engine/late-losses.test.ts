import { describe, expect, it } from '@jest/globals';
import { LockStoreError, type LockStore, type ReleaseReply } from '../../../lib/stores/port/index.js';
import { changedStore } from '../../support/changed-store.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { lockApps } from '../../support/lock-app.js';
import { elapse } from '../../support/until.js';

inVirtualTime();

const start = lockApps();

type Release = () => Promise<ReleaseReply>;

/** A store in memory whose releases a test delays or fails. */
function memoryStore(change: (release: Release) => Promise<ReleaseReply>): LockStore {
  return changedStore(({ release }) => ({
    release: (request) => change(async () => await release(request)),
  }));
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
    const app = await start({ store, shutdownTimeout: 0 });
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
    const app = await start({ store, shutdownTimeout: 0 });
    const lock = await app.locks.acquire('key', { leaseTime: 1_500 });
    expect(await lock.release()).toBe('unknown');
    await elapse(2_000);
    isAway = false;
    await elapse(2_000);
    expect(app.events('lost')).toEqual([]);
    expect(await app.locks.isLocked('key')).toBe(false);
  });
});
