import { describe, expect, it } from '@jest/globals';
import { LockStoreError } from '../../../lib/stores/port/index.js';
import { AwayStore, type Fault } from '../../support/away-store.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { LockApp } from '../../support/lock-app.js';

/** The time that shutdown leaves for pending requests, ms. It ends before the next regular attempt. */
const LAST_REQUESTS = 1_000;

const busy = new LockStoreError('it is busy', { inDoubt: false, retryable: true });

describe('a release or cancel that the store rejects until the application has nearly closed', () => {
  inVirtualTime();

  it.each<[string, 'cancel' | 'release', Fault]>([
    ['the cancel of a grant whose reply was lost', 'cancel', 'no answer'],
    ['a release', 'release', undefined],
  ])('B60: %s is attempted once more at the end of shutdown', async (_, kind, fault) => {
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
