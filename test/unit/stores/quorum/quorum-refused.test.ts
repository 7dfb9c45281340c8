import { afterEach, describe, expect, it } from '@jest/globals';
import type { LockStore, OwnerId, OwnerRequest } from '../../../../lib/stores/port/index.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { PortClient } from '../../../contract/port-client.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { MemberUnderControl } from '../../../support/member-under-control.js';
import { until } from '../../../support/until.js';

inVirtualTime();

const KEY = 'key';

/** A member that records the owners of requests, and its cancels. */
class RecordedMember extends MemberUnderControl {
  readonly names: OwnerId[] = [];
  readonly cancelled: OwnerRequest[] = [];

  override open(...[client]: Parameters<LockStore['open']>): ReturnType<LockStore['open']> {
    const session = super.open(client);
    return {
      ...session,
      acquire: (request) => {
        this.names.push(request.owner);
        return session.acquire(request);
      },
      cancel: (request) => {
        this.cancelled.push(request);
        return session.cancel(request);
      },
    };
  }
}

describe('an owner that a quorum has rejected', () => {
  const clients: PortClient[] = [];
  const members = (): RecordedMember[] => Array.from({ length: 5 }, (_, at) => new RecordedMember(at));
  const open = async (stores: readonly LockStore[]): Promise<PortClient> => {
    const client = await PortClient.open(new QuorumLockStore(stores));
    clients.push(client);
    return client;
  };

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });

  it('P32: gets no tombstone at members that reply a little later, and no cancel where it is not queued', async () => {
    const all = members();
    const [a, b] = [await open(all), await open(all)];
    const [holder, odd] = [a.newOwner(), b.newOwner()];
    await a.acquire(KEY, holder, { limit: 2 });
    const last = all.slice(2);
    for (const member of last) member.condition = 'slow';
    for (const wait of [false, true]) {
      expect(await b.acquire(KEY, odd, { limit: 3, wait })).toEqual({ outcome: 'conflict', limit: 2 });
    }
    for (const member of last) member.answer();
    expect(await b.acquire(KEY, odd, { limit: 3 })).toEqual({ outcome: 'conflict', limit: 2 });
    await a.release(KEY, holder);
    await until('it is free', async () => (await a.lockOf(KEY)) === null);
    expect(await b.acquire(KEY, odd, { limit: 3 })).toMatchObject({ outcome: 'granted' });
    expect(all.flatMap(({ cancelled }) => cancelled)).toEqual([]);
  });

  it('P32: cancels a late grant of a member, without a tombstone there', async () => {
    const all = members();
    const [a, b] = [await open(all), await open(all)];
    const [late] = all.splice(-1);
    if (late === undefined) throw new Error('there are five');
    late.condition = 'down';
    const [holder, other] = [a.newOwner(), b.newOwner()];
    await a.acquire(KEY, holder);
    late.condition = 'slow';
    expect(await b.acquire(KEY, other)).toMatchObject({ outcome: 'busy' });
    late.answer();
    await until('it is cancelled', () => late.cancelled.length > 0);
    expect(late.cancelled).toEqual([{ key: KEY, owner: other, inDoubt: false }]);
    const solo = await PortClient.open(late);
    await until('it is free', async () => (await solo.lockOf(KEY)) === null);
  });

  it('P30, P32: repeats its request under a new owner id during and after the cancel at a member that does not reply', async () => {
    const all = members();
    const [a, b] = [await open(all), await open(all)];
    const [holder, odd] = [a.newOwner(), b.newOwner()];
    await a.acquire(KEY, holder, { limit: 2 });
    const [silent] = all.slice(-1);
    if (silent === undefined) throw new Error('there are five');
    const first = silent.names.length;
    silent.isDeafTo = 'acquire';
    const conflict = { outcome: 'conflict', limit: 2 };
    expect(await b.acquire(KEY, odd, { limit: 3 })).toEqual(conflict);
    expect(await b.acquire(KEY, odd, { limit: 3 })).toEqual(conflict);
    await until('it is cancelled twice', () => silent.cancelled.length === 2);
    silent.isDeafTo = undefined;
    expect(await b.acquire(KEY, odd, { limit: 3 })).toEqual(conflict);
    await a.release(KEY, holder);
    await until('it is free', async () => (await a.lockOf(KEY)) === null);
    expect(await b.acquire(KEY, odd, { limit: 3 })).toMatchObject({ outcome: 'granted' });
    const names = silent.names.slice(first);
    expect(names.slice(0, 3)).toEqual([odd, `${odd}.1`, `${odd}.2`]);
    expect(silent.cancelled).toEqual([
      { key: KEY, owner: odd, inDoubt: true },
      { key: KEY, owner: `${odd}.1`, inDoubt: true },
    ]);
    for (const { owner } of silent.cancelled) expect(names.slice(2)).not.toContain(owner);
  });
});
