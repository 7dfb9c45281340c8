import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../../../lib/index.js';
import type { LockStore, OwnerId } from '../../../../lib/stores/port/index.js';
import { votesNeeded } from '../../../../lib/stores/quorum/majority.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { PortClient } from '../../../contract/port-client.js';
import { Endings } from '../../../support/endings.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { memberAt, MemberUnderControl } from '../../../support/member-under-control.js';
import { elapse, rejectionOf, stateOf, until } from '../../../support/until.js';

inVirtualTime();

const KEY = 'key';

describe('permits and read locks of a quorum', () => {
  const endings = new Endings();
  const five = (): MemberUnderControl[] => Array.from({ length: 5 }, (_, at) => new MemberUnderControl(at));
  const open = async (members: readonly LockStore[]): Promise<PortClient> =>
    endings.app(await PortClient.open(new QuorumLockStore(members)));
  const only = (members: readonly MemberUnderControl[], ...up: number[]): void => {
    for (const [index, member] of members.entries()) member.condition = up.includes(index) ? 'up' : 'down';
  };
  const free = async (members: readonly MemberUnderControl[], key = KEY): Promise<void> => {
    for (const member of members) {
      const solo = await PortClient.open(member);
      await until('the member is free', async () => (await solo.lockOf(key)) === null);
    }
  };

  it('P42: one holder more than the limit never finds enough votes, and fewer votes would not suffice', () => {
    for (let members = 1; members <= 9; members++) {
      for (const limit of [1, 2, 3, 4, 10, 1_000_000]) {
        const needed = votesNeeded(members, limit);
        expect(needed).toBeLessThanOrEqual(members);
        expect((limit + 1) * needed).toBeGreaterThan(limit * members);
        expect((limit + 1) * (needed - 1)).toBeLessThanOrEqual(limit * members);
      }
    }
    expect([1, 2, 3, 4, Infinity].map((limit) => votesNeeded(5, limit))).toEqual([3, 4, 4, 5, 3]);
  });

  it('P42: a semaphore of two needs four of five members, and the quorum is reachable with three', async () => {
    const members = five();
    const [a, b] = [await open(members), await open(members)];
    only(members, 0, 1, 2, 3);
    const [first, second] = [a.newOwner(), b.newOwner()];
    expect(await a.acquire(KEY, first, { limit: 2 })).toMatchObject({ outcome: 'granted' });
    only(members, 0, 1, 2);
    const error = await rejectionOf(b.acquire('other', second, { limit: 2 }));
    expect(error).toMatchObject({ retryable: true, unreachable: false });
    expect((error as Error).message).toContain('needs 4 of the 5 servers');
    await free(members.slice(0, 3), 'other');
    const lease = 20_000;
    expect(await rejectionOf(a.renew({ key: KEY, owner: first, lease }))).toMatchObject({ inDoubt: true });
    expect(await b.acquire('other', b.newOwner(), { limit: Infinity })).toMatchObject({ outcome: 'granted' });
    only(members, 0, 1, 2, 3);
    expect(await a.renew({ key: KEY, owner: first, lease })).toEqual(['renewed']);
  });

  it('P42: a hold that lost a vote it needs is gone, and released at the other members', async () => {
    const members = five();
    const a = await open(members);
    const owner = a.newOwner();
    await a.acquire(KEY, owner, { limit: 4 });
    const solo = await PortClient.open(memberAt(members, 0));
    await solo.forceRelease(KEY);
    expect(await a.renew({ key: KEY, owner, lease: 20_000 })).toEqual(['gone']);
    await free(members);
  });

  it('a limit other than that of the current holders is a conflict, and grants of members are released', async () => {
    const members = five();
    const [a, b] = [await open(members), await open(members)];
    only(members, 0, 1, 2);
    const reader = a.newOwner();
    await a.acquire(KEY, reader, { limit: Infinity });
    only(members, 0, 1, 2, 3, 4);
    for (const wait of [false, true]) {
      const owner = b.newOwner();
      expect(await b.acquire(KEY, owner, { limit: 2, wait })).toEqual({
        outcome: 'conflict',
        limit: Infinity,
      });
      await free(members.slice(3));
      for (const member of members) {
        const solo = await PortClient.open(member);
        expect((await solo.lockOf(KEY))?.waiters ?? []).toEqual([]);
      }
    }
    expect(await b.acquire(KEY, b.newOwner())).toMatchObject({ outcome: 'busy' });
    await a.release(KEY, reader);
    // A remaining grant at a minority excludes no other owner.
    const solo = await PortClient.open(memberAt(members, 0));
    expect(await solo.acquire(KEY, solo.newOwner(), { limit: 7 })).toMatchObject({ outcome: 'granted' });
    const last = memberAt(members, 4);
    last.condition = 'slow';
    const reply = b.acquire(KEY, b.newOwner(), { limit: 2 });
    expect(await stateOf(reply)).toBe('pending');
    last.answer();
    expect(await reply).toMatchObject({ outcome: 'granted' });
  });

  it('inspect returns all holders, each with its grant, and the waiters', async () => {
    const members = Array.from({ length: 5 }, () => new MemoryLockStore());
    const [a, b] = [await open(members), await open(members)];
    const [one, two, late, waiter] = [a.newOwner(), b.newOwner(), b.newOwner(), a.newOwner()];
    const first = await a.acquire(KEY, one, { limit: 2, label: 'import', lease: 10_000 });
    const second = await b.acquire(KEY, two, { limit: 2, lease: 30_000 });
    if (first.outcome !== 'granted' || second.outcome !== 'granted')
      throw new Error('there is a free permit');
    expect(second.token).toBeGreaterThan(first.token);
    await a.acquire(KEY, waiter, { limit: 2, label: 'export', wait: true });
    // An owner that was cancelled at the members requests under another id.
    for (const member of members) {
      const solo = await PortClient.open(member);
      await solo.acquire(KEY, `${late}.1` as OwnerId, { limit: 2, wait: true });
    }
    const lock = await b.lockOf(KEY);
    expect(lock).toMatchObject({
      limit: 2,
      holders: [
        { owner: one, token: first.token, since: first.since, label: 'import' },
        { owner: two, token: second.token, since: second.since, label: undefined },
      ],
      waiters: [
        { owner: waiter, limit: 2, label: 'export', callers: 1 },
        { owner: late, limit: 2, label: undefined },
      ],
    });
    expect(lock?.holders[0]?.leaseLeft).toBeLessThanOrEqual(10_000);
    expect(lock?.holders[1]?.leaseLeft).toBeGreaterThan(20_000);
    expect(await b.forceRelease(KEY)).toBe(true);
    await until('both are notified', () => a.broken.includes(one) && b.broken.includes(two));
    expect((await a.granted(waiter)).token).toBeGreaterThan(second.token);
  });

  it('an exact lease ends at that time at all members, also at unreachable ones', async () => {
    const members = five();
    const a = await open(members);
    const owner = a.newOwner();
    await a.acquire(KEY, owner, { limit: Infinity });
    memberAt(members, 0).isDeafTo = 'renew';
    expect(await a.renew({ key: KEY, owner, lease: 500, exactly: true })).toEqual(['renewed']);
    expect((await a.lockOf(KEY))?.holders[0]?.leaseLeft).toBeLessThanOrEqual(500);
    const start = performance.now();
    await free(members);
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(await a.release(KEY, owner)).toBe('not-held');
  });

  it('B60: an exact end reaches a slow member before the session closes', async () => {
    const members = five();
    const client = await PortClient.open(new QuorumLockStore(members));
    const owner = client.newOwner();
    expect(await client.acquire(KEY, owner, { limit: 3 })).toMatchObject({ outcome: 'granted' });
    const slow = memberAt(members, 0);
    slow.way = () => elapse(100);
    expect(await client.renew({ key: KEY, owner, lease: 5_000, exactly: true })).toEqual(['renewed']);
    await client.close();
    slow.way = undefined;
    const solo = await PortClient.open(slow);
    expect((await solo.lockOf(KEY))?.holders).toEqual([expect.objectContaining({ owner })]);
    expect((await solo.lockOf(KEY))?.holders[0]?.leaseLeft).toBeLessThanOrEqual(5_000);
    await solo.close();
  });
});
