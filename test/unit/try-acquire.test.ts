import { afterEach, describe, expect, it } from '@jest/globals';
import {
  LockUnavailableError,
  MemoryLockStore,
  type AcquireReply,
  type LockStore,
  type LockStoreSession,
} from '../../lib/index.js';
import { LockApp } from '../support/lock-app.js';
import { rejectionOf } from '../support/until.js';

/** Takes so many requests back before it serves one. */
function takesBack(count: number): LockStore {
  const memory = new MemoryLockStore();
  let left = count;
  return {
    name: 'a store that takes requests back',
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

describe('a single try whose request the store takes back', () => {
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  async function start(store: LockStore): Promise<LockApp> {
    const app = await LockApp.start({ store, shutdownTimeout: 0 });
    apps.push(app);
    return app;
  }

  it('B11: is made once more', async () => {
    const { locks } = await start(takesBack(1));
    const handle = await locks.tryAcquire('key');
    expect(handle?.isHeld).toBe(true);
    expect(await handle?.release()).toBe('released');
  });

  it('B11: fails as of a store that could not be asked, not of a lock that is held', async () => {
    const { locks, ...app } = await start(takesBack(Infinity));
    expect(await rejectionOf(locks.tryAcquire('key'))).toBeInstanceOf(LockUnavailableError);
    const retry = { maxAttempts: 2 };
    expect(await rejectionOf(locks.acquire('key', { waitTime: 500, retry }))).toBeInstanceOf(
      LockUnavailableError,
    );
    expect(app.seen.map(({ type }) => type)).toEqual(['unavailable', 'unavailable']);
  });
});
