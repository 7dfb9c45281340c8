import { afterEach, describe, expect, it } from '@jest/globals';
import { LockUnavailableError, MemoryLockStore } from '../../lib/index.js';
import type { AcquireReply, LockStore, LockStoreSession } from '../../lib/stores/port/index.js';
import { LockApp } from '../support/lock-app.js';
import { rejectionOf } from '../support/until.js';

/** A store that cancels the first `count` requests. */
function cancelling(count: number): LockStore {
  const memory = new MemoryLockStore();
  let left = count;
  return {
    name: 'a store that cancels requests',
    open: (client): LockStoreSession => {
      const session = memory.open(client);
      const acquire = session.acquire.bind(session);
      const cancelled: AcquireReply = { outcome: 'cancelled' };
      return Object.assign(session, {
        acquire: (request: Parameters<typeof acquire>[0]) =>
          left-- > 0 ? Promise.resolve(cancelled) : acquire(request),
      });
    },
  };
}

describe('a single attempt whose request the store cancels', () => {
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  async function start(store: LockStore): Promise<LockApp> {
    const app = await LockApp.start({ store, shutdownTimeout: 0 });
    apps.push(app);
    return app;
  }

  it('B11: is repeated once', async () => {
    const { locks } = await start(cancelling(1));
    const handle = await locks.tryAcquire('key');
    expect(handle?.isHeld).toBe(true);
    expect(await handle?.release()).toBe('released');
  });

  it('B11: fails with "unavailable", not with "held"', async () => {
    const { locks, ...app } = await start(cancelling(Infinity));
    expect(await rejectionOf(locks.tryAcquire('key'))).toBeInstanceOf(LockUnavailableError);
    const retry = { maxAttempts: 2 };
    expect(await rejectionOf(locks.acquire('key', { waitTime: 500, retry }))).toBeInstanceOf(
      LockUnavailableError,
    );
    expect(app.seen.map(({ type }) => type)).toEqual(['unavailable', 'unavailable']);
  });
});
