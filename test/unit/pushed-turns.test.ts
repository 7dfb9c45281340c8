import { afterEach, describe, expect, it } from '@jest/globals';
import {
  MemoryLockStore,
  type LockStore,
  type LockStoreClient,
  type MonotonicMs,
  type PushedGrant,
} from '../../lib/index.js';
import { LockApp, queuedIn } from '../support/lock-app.js';

const key = 'key';
const patient = { waitTime: 60_000 };

/** A store that changes what it tells of the grants that it pushes. */
class ToldOtherwise implements LockStore {
  readonly name = 'told otherwise';
  private readonly real = new MemoryLockStore();

  constructor(private readonly told: (grant: PushedGrant) => PushedGrant) {}

  open(client: LockStoreClient): ReturnType<LockStore['open']> {
    return this.real.open({
      ...client,
      granted: (owner, grant) => {
        client.granted(owner, this.told(grant));
      },
    });
  }
}

describe('the turn of a process to which a lock was pushed (P20)', () => {
  const apps: LockApp[] = [];
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  /** The order in which callers are served: three of a process, and one of another that asked after the first of them. */
  async function served(told: (grant: PushedGrant) => PushedGrant): Promise<string[]> {
    const store = new ToldOtherwise(told);
    for (let count = 0; count < 3; count++) apps.push(await LockApp.start({ store }));
    const [holder, many, one] = apps as [LockApp, LockApp, LockApp];
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

  it('begins when the store says that it does, though its lease may have begun long before', async () => {
    const order = await served((grant) => ({
      ...grant,
      startedAt: before(grant.startedAt, 500),
      // So late that no busy machine ends it.
      turnFrom: before(grant.startedAt, -60_000),
    }));
    expect(order).toEqual(['many', 'many', 'many', 'one']);
  });

  it('begins with the lease where the store says nothing of it', async () => {
    const order = await served((grant) => ({ ...grant, startedAt: before(grant.startedAt, 500) }));
    expect(order).toEqual(['many', 'one', 'many', 'many']);
  });
});
