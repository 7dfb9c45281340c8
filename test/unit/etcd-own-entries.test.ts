import { describe, expect, it } from '@jest/globals';
import type { AskRequest, MonotonicMs, OwnerId } from '../../lib/index.js';
import { KeyNames } from '../../lib/stores/etcd/locks/key-names.js';
import type { LockContext } from '../../lib/stores/etcd/locks/lock-context.js';
import type { LockReader } from '../../lib/stores/etcd/locks/lock-reader.js';
import { OwnEntries } from '../../lib/stores/etcd/locks/own-entries.js';
import { LockStoreError } from '../../lib/stores/port/lock-store.js';
import { SessionTimers } from '../../lib/stores/port/session-timers.js';
import { rejectionOf, within } from '../support/until.js';

describe('what a session of etcd holds', () => {
  it('answers a claim that is held back when the session closes', async () => {
    const client = { now: () => 0 as MonotonicMs };
    const names = new KeyNames('p/');
    const timers = new SessionTimers(client);
    const context = { client, names, timers, base: { at: () => 1 }, own: new Map() };
    const entries = new OwnEntries(context as unknown as LockContext, {} as LockReader);
    const owner = 'mine:1' as OwnerId;
    const request = { key: 'key', owner, limit: 1, claimLease: 2_000 } as AskRequest;
    entries.holdUnwritten(entries.add(names.lock('key'), request, 1, 1), 2);
    const refused = rejectionOf(entries.renew({ key: 'key', owner, lease: 20_000 }));
    timers.close();
    entries.close();
    expect(await within(10_000, 'an answer', refused)).toBeInstanceOf(LockStoreError);
  });
});
