import { describe, expect, it } from '@jest/globals';
import type { MonotonicMs } from '../../lib/index.js';
import { KeyNames } from '../../lib/stores/etcd/locks/key-names.js';
import { KeyTurns } from '../../lib/stores/etcd/locks/key-turns.js';
import type { LockContext } from '../../lib/stores/etcd/locks/lock-context.js';
import { LockInspection } from '../../lib/stores/etcd/locks/lock-inspection.js';
import type { LockReader } from '../../lib/stores/etcd/locks/lock-reader.js';
import { SessionTimers } from '../../lib/stores/port/times.js';
import { rejectionOf, until, within } from '../support/until.js';

describe('to look at a lock in etcd', () => {
  it('ends with the session, also while a holder has not told its token yet', async () => {
    const client = { now: () => 0 as MonotonicMs };
    const timers = new SessionTimers(client);
    let reads = 0;
    let isClosed = false;
    const reader = {
      readLiving: () => {
        reads += 1;
        if (isClosed) return Promise.reject(new Error('closed'));
        return Promise.resolve({ entries: [{ limit: 1 }] });
      },
      knownTokenOf: () => undefined,
    } as unknown as LockReader;
    const context = { client, timers, names: new KeyNames('p/'), turns: new KeyTurns() } as LockContext;
    const looked = rejectionOf(new LockInspection(context, reader).inspect('key'));
    await until('it has looked', () => reads > 0);
    isClosed = true;
    timers.close();
    expect(await within(10_000, 'its end', looked)).toEqual(new Error('closed'));
  });
});
