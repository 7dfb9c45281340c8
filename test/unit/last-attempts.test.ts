import { describe, expect, it } from '@jest/globals';
import { LockStoreError } from '../../lib/index.js';
import { AwayStore, type Fault } from '../support/away-store.js';
import { inVirtualTime } from '../support/in-virtual-time.js';
import { LockApp } from '../support/lock-app.js';

/** Shutdown gives requests under way so long, ms; the pauses between attempts are then longer than what is left of it. */
const LAST_REQUESTS = 1_000;

const busy = new LockStoreError('it is busy', { inDoubt: false, retryable: true });

describe('what a store refuses to take back until the application has nearly closed', () => {
  inVirtualTime();

  it.each<[string, 'cancel' | 'release', Fault]>([
    ['a grant whose answer was lost', 'cancel', 'no answer'],
    ['a lock that was given back', 'release', undefined],
  ])('B60: %s is tried to be taken back once more at the end of shutdown', async (_, kind, fault) => {
    const store = new AwayStore();
    const app = await LockApp.start({ store, shutdownTimeout: 50 });
    store.fault = (each) => (each === 'acquire' ? fault : each === kind ? busy : undefined);
    const handle = await app.locks.tryAcquire('key', { waitTime: 0 }).catch(() => null);
    await handle?.release();
    const closing = performance.now();
    store.fault = (each) =>
      each === kind && performance.now() < closing + LAST_REQUESTS - 15 ? busy : undefined;
    await app.close();
    const other = await LockApp.start({ store: store.inside });
    expect(await other.locks.isLocked('key')).toBe(false);
    await other.close();
  });
});
