import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../lib/index.js';
import { LockStoreError, type LockStore } from '../../lib/stores/port/index.js';
import { inVirtualTime } from '../support/in-virtual-time.js';
import { LockApp } from '../support/lock-app.js';
import { elapse } from '../support/until.js';

inVirtualTime();

const apps: LockApp[] = [];
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

/** A store that receives no release while it is away. */
class AwayAtReleases implements LockStore {
  readonly name = 'memory';
  isAway = true;
  private readonly real = new MemoryLockStore();

  constructor(private readonly losesData: boolean) {}

  readonly open: LockStore['open'] = (client) => {
    const session = this.real.open(client);
    const release = session.release.bind(session);
    session.release = async (request) => {
      if (!this.isAway) return await release(request);
      if (this.losesData) await release(request);
      throw new LockStoreError('away', { inDoubt: false, retryable: true, unreachable: true });
    };
    return session;
  };
}

/** A store that receives releases late. */
class SlowReleases implements LockStore {
  readonly name = 'memory';
  private readonly real = new MemoryLockStore();

  constructor(private readonly delay: number) {}

  readonly open: LockStore['open'] = (client) => {
    const session = this.real.open(client);
    const release = session.release.bind(session);
    session.release = async (request) => {
      await new Promise((resolve) => setTimeout(resolve, this.delay));
      return await release(request);
    };
    return session;
  };
}

describe('a release that can only be sent long after the hold has ended', () => {
  it('B23: reports that the store had lost the lock', async () => {
    const store = new AwayAtReleases(true);
    const app = await LockApp.start({ store, shutdownTimeout: 0 });
    apps.push(app);
    const lock = await app.locks.acquire('key');
    expect(await lock.release()).toBe('unknown');
    expect(app.events('lost')).toEqual([]);
    await elapse(2_000);
    store.isAway = false;
    await elapse(2_000);
    expect(app.events('lost')).toHaveLength(1);
    expect(lock.signal.aborted).toBe(true);
  });

  it('B23: reports no loss if the lease may have ended by itself by then', async () => {
    const store = new AwayAtReleases(false);
    const app = await LockApp.start({ store, shutdownTimeout: 0 });
    apps.push(app);
    const lock = await app.locks.acquire('key', { leaseTime: 1_500 });
    expect(await lock.release()).toBe('unknown');
    await elapse(2_000);
    store.isAway = false;
    await elapse(2_000);
    expect(app.events('lost')).toEqual([]);
    expect(await app.locks.isLocked('key')).toBe(false);
  });

  it('B23: reports no loss if the request was under way while the lease ended', async () => {
    const store = new SlowReleases(2_000);
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
