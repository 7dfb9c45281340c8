import { describe, expect, it } from '@jest/globals';
import type { LockStore, OwnerId, OwnerRequest } from '../../../../lib/stores/port/index.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { PortClient } from '../../../contract/port-client.js';
import { Endings } from '../../../support/endings.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { memberAt, MemberUnderControl } from '../../../support/member-under-control.js';
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
      release: (request) => {
        if (!request.wasGranted) this.cancelled.push(request);
        return session.release(request);
      },
    };
  }
}

describe('an owner that a quorum has rejected', () => {
  const endings = new Endings();
  const members = (): RecordedMember[] => Array.from({ length: 5 }, (_, at) => new RecordedMember(at));
  const open = async (stores: readonly LockStore[]): Promise<PortClient> =>
    endings.app(await PortClient.open(new QuorumLockStore(stores)));

  it('P32: gets no tombstone at members that reply a little later, and no cancel where it is not queued', async () => {
    const all = members();
    const [a, b] = [await open(all), await open(all)];
    const holder = a.newOwner();
    await a.acquire(KEY, holder, { limit: 2 });
    const last = all.slice(2);
    for (const member of last) member.condition = 'slow';
    for (const wait of [false, true]) {
      const reply = await b.acquire(KEY, b.newOwner(), { limit: 3, wait });
      expect(reply).toEqual({ outcome: 'conflict', limit: 2 });
    }
    for (const member of last) member.answer();
    await a.release(KEY, holder);
    await until('it is free', async () => (await a.lockOf(KEY)) === null);
    expect(await b.acquire(KEY, b.newOwner(), { limit: 3 })).toMatchObject({ outcome: 'granted' });
    expect(all.flatMap(({ cancelled }) => cancelled)).toEqual([]);
  });

  it('P32: cancels a late grant of a member, without a tombstone there', async () => {
    const all = members();
    const [a, b] = [await open(all), await open(all)];
    const late = memberAt(all, 4);
    late.condition = 'down';
    const [holder, other] = [a.newOwner(), b.newOwner()];
    await a.acquire(KEY, holder);
    late.condition = 'slow';
    expect(await b.acquire(KEY, other)).toMatchObject({ outcome: 'busy' });
    late.answer();
    await until('it is cancelled', () => late.cancelled.length > 0);
    expect(late.cancelled).toEqual([{ key: KEY, owner: other, wasGranted: false, inDoubt: false }]);
    const solo = await PortClient.open(late);
    await until('it is free', async () => (await solo.lockOf(KEY)) === null);
  });

  it('P30: is used up, also while a member has not replied', async () => {
    const all = members();
    const [a, b] = [await open(all), await open(all)];
    const odd = b.newOwner();
    await a.acquire(KEY, a.newOwner(), { limit: 2 });
    const silent = memberAt(all, 4);
    silent.isDeafTo = 'acquire';
    expect(await b.acquire(KEY, odd, { limit: 3 })).toEqual({ outcome: 'conflict', limit: 2 });
    expect(await b.acquire(KEY, odd, { limit: 3 })).toEqual({ outcome: 'cancelled' });
    await until('it is cancelled', () => silent.cancelled.length > 0);
    expect(silent.cancelled).toEqual([{ key: KEY, owner: odd, wasGranted: false, inDoubt: true }]);
  });
});
