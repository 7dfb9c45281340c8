import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../../lib/index.js';
import type { LockStore, LockStoreClient, MonotonicMs, PushedGrant } from '../../../lib/stores/port/index.js';
import { type LockApp, lockApps, queuedIn } from '../../support/lock-app.js';

const key = 'key';
const patient = { waitTime: 60_000 };

/** A store that changes the grants that it pushes. */
class ChangingStore implements LockStore {
  readonly name = 'changed grants';
  private readonly real = new MemoryLockStore();

  constructor(private readonly change: (grant: PushedGrant) => PushedGrant) {}

  open(client: LockStoreClient): ReturnType<LockStore['open']> {
    return this.real.open({
      ...client,
      granted: (owner, grant) => {
        client.granted(owner, this.change(grant));
      },
    });
  }
}

describe('the turn of a pushed grant (P20)', () => {
  const start = lockApps();

  /** The order in which callers are served: three of one process, and one of another that queued after the first of them. */
  async function served(change: (grant: PushedGrant) => PushedGrant): Promise<string[]> {
    const store = new ChangingStore(change);
    const [holder, many, one] = [await start({ store }), await start({ store }), await start({ store })];
    const order: string[] = [];
    const call = (app: LockApp, name: string): Promise<void> =>
      app.locks.withLock(key, patient, () => void order.push(name));
    const first = await holder.locks.acquire(key);
    const calls = [call(many, 'many')];
    await queuedIn(many, key);
    calls.push(call(one, 'one'));
    await queuedIn(one, key);
    calls.push(call(many, 'many'), call(many, 'many'));
    await first.release();
    await Promise.all(calls);
    return order;
  }

  const before = (time: MonotonicMs, ms: number): MonotonicMs => (time - ms) as MonotonicMs;

  it('starts at turnFrom, even if the lease started long before', async () => {
    const order = await served((grant) => ({
      ...grant,
      startedAt: before(grant.startedAt, 500),
      // So late that it does not end on a busy machine.
      turnFrom: before(grant.startedAt, -60_000),
    }));
    expect(order).toEqual(['many', 'many', 'many', 'one']);
  });

  it('starts with the lease if the store does not set turnFrom', async () => {
    const order = await served((grant) => ({ ...grant, startedAt: before(grant.startedAt, 500) }));
    expect(order).toEqual(['many', 'one', 'many', 'many']);
  });
});
