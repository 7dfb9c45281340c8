import { describe, expect, it } from '@jest/globals';
import type { AcquireReply, LockStore, OwnerId } from '../../../../lib/stores/port/index.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { PortClient } from '../../../contract/port-client.js';
import { Endings } from '../../../support/endings.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { memberAt, MemberUnderControl } from '../../../support/member-under-control.js';
import { elapse, rejectionOf, until, within } from '../../../support/until.js';

inVirtualTime();

const KEY = 'key';
const waiting = { wait: true };

describe('the quorum', () => {
  const endings = new Endings();
  const scene = (skews: readonly number[] = [0, 0, 0, 0, 0]) => {
    const members = skews.map((skew, index) => new MemberUnderControl(index, skew));
    return {
      members,
      open: async () => endings.app(await PortClient.open(new QuorumLockStore(members))),
      first: (count: number, condition: MemberUnderControl['condition']) => {
        for (const member of members.slice(0, count)) member.condition = condition;
      },
    };
  };
  /** A hold of `a`, and another client. */
  const held = async (skews?: readonly number[]) => {
    const all = scene(skews);
    const [a, b] = [await all.open(), await all.open()];
    const owner = a.newOwner();
    return { ...all, a, b, owner, token: await a.take(KEY, owner) };
  };
  /** The holder of the key at each member. */
  const holders = async (members: readonly MemberUnderControl[]): Promise<(string | undefined)[]> => {
    const holds = members.map(async (member) => {
      const client = await PortClient.open(member);
      return (await client.inspect(KEY))?.owner;
    });
    return await Promise.all(holds);
  };
  const noHolders = (members: readonly MemberUnderControl[]): Promise<void> =>
    until('all members are free', async () =>
      (await holders(members)).every((owner) => owner === undefined),
    ).then(() => undefined);
  /** The requests to each member since then. */
  const forget = (members: readonly MemberUnderControl[]): void => {
    for (const { asked } of members) asked.length = 0;
  };
  const granted = (reply: AcquireReply): number => {
    if (reply.outcome !== 'granted') throw new Error(`not granted but ${reply.outcome}`);
    return reply.token;
  };

  it('F70: forceRelease that a member carries out late takes no vote of the next holder', async () => {
    const { members, open } = scene([0, 0, 0]);
    const [a, b] = [await open(), await open()];
    const [holder, next] = [a.newOwner(), b.newOwner()];
    await a.take(KEY, holder);
    let arrive: () => void = () => undefined;
    const way = new Promise<void>((resolve) => (arrive = resolve));
    const late: LockStore = {
      name: 'late',
      open: (client) => {
        const session = memberAt(members, 2).open(client);
        return { ...session, breakHold: (key, hold) => way.then(() => session.breakHold(key, hold)) };
      },
    };
    const stores = [memberAt(members, 0), memberAt(members, 1), late];
    const operator = endings.app(await PortClient.open(new QuorumLockStore(stores)));
    const broken = operator.forceRelease(KEY);
    await until('it is broken', () => a.broken.length > 0);
    await a.release(KEY, holder);
    await b.take(KEY, next);
    const isNext = async (): Promise<boolean> => (await holders(members)).every((owner) => owner === next);
    await until('it has all votes', isNext);
    expect(await within(2_000, 'the break', broken)).toBe(true);
    arrive();
    await elapse(10);
    expect(await isNext()).toBe(true);
    expect(b.broken).toEqual([]);
  });

  it('F70: to break a hold ends when the holders change faster than they can be broken', async () => {
    const { members } = scene([0, 0, 0]);
    let looks = 0;
    const passing = (member: MemberUnderControl): LockStore => ({
      name: member.name,
      open: (client) => ({
        ...member.open(client),
        inspect: () => {
          looks += 1;
          // All members see the same holder, which is gone when it is to be broken.
          const owner = `other:${Math.ceil(looks / members.length)}` as OwnerId;
          const hold = { owner, token: 1, since: undefined, leaseLeft: 1_000, permits: 1, label: undefined };
          return Promise.resolve({ limit: 1, holders: [hold], waiters: [] });
        },
        breakHold: () => Promise.resolve('held-by-others' as const),
      }),
    });
    const operator = endings.app(await PortClient.open(new QuorumLockStore(members.map(passing))));
    const failure = await within(10_000, 'the end', rejectionOf(operator.forceRelease(KEY)));
    expect(failure).toMatchObject({ inDoubt: false, retryable: true });
    expect((failure as Error).message).toContain('the holders had changed');
    expect(looks).toBe(10 * members.length);
  });

  it('B11: a lock held by others is busy, also with two members missing and some grants, which are released', async () => {
    const { members, open, first } = scene();
    const [a, b] = [await open(), await open()];
    const solo = await PortClient.open(memberAt(members, 4));
    await solo.take(KEY, solo.newOwner());
    first(2, 'down');
    expect(await a.acquire(KEY, a.newOwner())).toMatchObject({ outcome: 'busy' });
    expect((await holders(members.slice(2))).slice(0, 2)).toEqual([undefined, undefined]);
    first(2, 'up');
    const owner = b.newOwner();
    await b.take(KEY, owner);
    await b.release(KEY, owner);
  });

  it('P42: a late grant joins the hold, and is released with it', async () => {
    const { members, open } = scene([-60_000, 0, 0, 0, 0]);
    const a = await open();
    const late = memberAt(members, 0);
    late.condition = 'slow';
    const owner = a.newOwner();
    await a.take(KEY, owner);
    forget(members);
    late.answer();
    await until('it has the token of the hold', () => late.asked.includes('raise'));
    await a.renew({ key: KEY, owner, lease: 30_000 });
    expect(late.asked).toContain('renew');
    await a.release(KEY, owner);
    await noHolders(members);
  });

  it('P42: a release reaches an unresponsive member once it replies again', async () => {
    const { members, first, a, owner } = await held();
    first(2, 'down');
    expect(await a.release(KEY, owner)).toBe('released');
    first(2, 'up');
    await noHolders(members);
  });

  it('P30, P33: an undecided release may be repeated until its outcome was returned once', async () => {
    const { members, first, a, owner } = await held();
    first(3, 'down');
    expect(await rejectionOf(a.release(KEY, owner))).toMatchObject({ inDoubt: true, retryable: true });
    first(3, 'up');
    memberAt(members, 0).condition = 'down';
    expect(await a.release(KEY, owner)).toBe('released');
    expect(await a.release(KEY, owner)).toBe('not-held');
  });

  it('B65: members that reject requests are reachable, and a quorum is unreachable only without a majority', async () => {
    const { members, first, a, owner } = await held();
    const fails = async (unreachable: boolean): Promise<void> => {
      for (const request of [
        a.acquire('other', a.newOwner(), waiting),
        a.acquire('other', a.newOwner()),
        a.renew({ key: KEY, owner, lease: 20_000 }),
        a.inspect(KEY),
        a.forceRelease(KEY),
        PortClient.open(new QuorumLockStore(members)),
      ]) {
        expect(await rejectionOf(request)).toMatchObject({ unreachable });
      }
    };
    first(2, 'down');
    memberAt(members, 2).condition = 'refusing';
    await fails(false);
    first(3, 'down');
    await fails(true);
  });

  it('P42, P12: a pushed grant that a request has claimed for less lasts no longer than that', async () => {
    const { members, open } = scene([0, 0, 0]);
    const a = await open();
    const owner = a.newOwner();
    const solos = await Promise.all(members.map((member) => PortClient.open(member)));
    const holds = solos.map((solo) => ({ solo, held: solo.newOwner() }));
    for (const { solo, held } of holds) await solo.take(KEY, held);
    await a.acquire(KEY, owner, waiting);
    for (const member of members.slice(1)) member.isDeafTo = 'inspect';
    const [first, , last] = holds;
    if (first === undefined || last === undefined) throw new Error('there are three');
    // The push is on its way when the request is sent.
    const released = first.solo.release(KEY, first.held);
    await a.acquire(KEY, owner, { wait: true, lease: 300, claimLease: 300 });
    expect(await released).toBe('released');
    // It has no competitors, and is not requested again.
    memberAt(members, 0).isDeafTo = 'acquire';
    expect((await first.solo.inspect(KEY))?.leaseLeft).toBeLessThan(301);
    await until('the claimed lease has expired', async () => (await first.solo.inspect(KEY)) === null);
    memberAt(members, 0).condition = 'down';
    memberAt(members, 2).isDeafTo = undefined;
    await last.solo.release(KEY, last.held);
    await until('the last one grants it', async () => (await last.solo.inspect(KEY))?.owner !== undefined);
    await elapse(20);
    expect(a.grants).toEqual([]);
  });

  it('P42, P12: a grant that was pushed during a request lasts no longer than the push', async () => {
    const { members, open } = scene([0, 0, 0]);
    const a = await open();
    const owner = a.newOwner();
    const solos = await Promise.all(members.map((member) => PortClient.open(member)));
    const holds = solos.map((solo) => ({ solo, held: solo.newOwner() }));
    await Promise.all(holds.map(({ solo, held }) => solo.take(KEY, held)));
    await a.acquire(KEY, owner, waiting);
    // Two members queue it again, and push the lock to it before their replies are here. The third one keeps its hold.
    for (const member of members) Object.assign(member, { condition: 'slow', slowAt: 'acquire' });
    const asking = a.acquire(KEY, owner, { ...waiting, lease: 30_000 });
    await until('all have the request', () =>
      members.every(({ asked }) => asked.filter((what) => what === 'acquire').length >= 3),
    );
    for (const { solo, held } of holds.slice(0, 2)) await solo.release(KEY, held);
    for (const member of members) member.answer();
    expect(await asking).toMatchObject({ outcome: 'queued' });
    const grant = await a.granted(owner);
    expect(grant.lease).toBeLessThanOrEqual(2_000);
    // After the claim, the members grant it for as long as requested.
    expect(await a.renew({ key: KEY, owner, lease: 30_000 })).toEqual(['renewed']);
    for (const solo of solos.slice(0, 2))
      expect((await solo.inspect(KEY))?.leaseLeft).toBeGreaterThan(20_000);
  });

  it('P42, P30: an owner that repeats its request is not removed by its earlier release', async () => {
    const { members, a, b, owner } = await held([0]);
    const next = b.newOwner();
    await b.acquire(KEY, next, { wait: true, claimLease: 40 });
    await a.release(KEY, owner);
    await b.granted(next);
    await until('its claim lease has expired', async () => (await a.inspect(KEY)) === null);
    for (const member of members) member.condition = 'down';
    // After the second failure, the session only knows that the owner has to leave.
    for (let attempt = 0; attempt < 2; attempt++) await rejectionOf(b.acquire(KEY, next, waiting));
    for (const member of members) member.condition = 'up';
    forget(members);
    expect(await b.acquire(KEY, next, waiting)).toMatchObject({ outcome: 'granted' });
    await until('it has left', () => members.every(({ asked }) => asked.includes('cancel')));
    expect(await a.acquire(KEY, a.newOwner())).toMatchObject({ outcome: 'busy' });
    expect(await b.renew({ key: KEY, owner: next, lease: 20_000 })).toEqual(['renewed']);
  });

  it('B14: an inspection that is under way when the session is closed ends', async () => {
    const { members, open, first } = scene();
    const a = await open();
    const b = await open();
    // The members do not agree on the token, so it reads again after a pause.
    for (const member of members) member.isDeafTo = 'raise';
    members.forEach((member, index) => (member.skew = index * 1_000));
    const owner = a.newOwner();
    await a.take(KEY, owner);
    const looks: Promise<unknown>[] = [a.inspect(KEY)];
    await elapse(2);
    await a.close();
    first(2, 'silent');
    looks.push(b.inspect(KEY), b.forceRelease('free'));
    await elapse(2);
    await b.close();
    await within(1_000, 'the end of all looks', Promise.allSettled(looks));
  });

  describe('tokens', () => {
    const minute = 60_000;

    it('B16: are announced to each member before the release', async () => {
      const { members, open } = scene([minute, 0, 0]);
      const a = await open();
      for (const member of members.slice(1)) Object.assign(member, { condition: 'slow', slowAt: 'raise' });
      const owner = a.newOwner();
      await a.take(KEY, owner);
      const released = a.release(KEY, owner);
      // At once, so that later requests come after it.
      for (const { asked } of members.slice(1))
        expect(asked).toEqual(['start', 'acquire', 'raise', 'release']);
      // The member with the largest token already knows it.
      expect(memberAt(members, 0).asked).toEqual(['start', 'acquire', 'release']);
      for (const member of members) member.answer();
      expect(await released).toBe('released');
      await noHolders(members);
    });

    it('B16: are announced again before the release to a member that did not confirm', async () => {
      const { members, open } = scene([minute, 0, 0]);
      const a = await open();
      const owner = a.newOwner();
      for (const member of members.slice(1)) {
        member.way = () =>
          member.asked.at(-1) === 'raise' ? Promise.reject(new Error('it was lost')) : Promise.resolve();
      }
      await a.take(KEY, owner);
      await until('it was lost', () => members.slice(1).every(({ asked }) => asked.includes('raise')));
      await elapse(5);
      for (const member of members) member.way = undefined;
      expect(await a.release(KEY, owner)).toBe('released');
      for (const { asked } of members.slice(1)) {
        expect(asked).toEqual(['start', 'acquire', 'raise', 'raise', 'release']);
      }
      await noHolders(members);
    });

    it('B16: grow after a hold that was never announced, if the clocks differ by less than its lease', async () => {
      const { members, open } = scene([400, 0, 0]);
      const [a, b] = [await open(), await open()];
      for (const member of members) member.isDeafTo = 'raise';
      const token = await a.take(KEY, a.newOwner(), 500);
      // The holder died, and the member whose clock is ahead is down too.
      memberAt(members, 0).condition = 'down';
      await until('its lease has expired', async () => (await b.inspect(KEY)) === null);
      expect(await b.take(KEY, b.newOwner())).toBeGreaterThan(token);
    });

    it('B16: are new for an owner whose pushed votes have ended, when another owner has held the lock since', async () => {
      const { members, open } = scene([0, 0, 0]);
      const [one, two, three] = [await open(), await open(), await open()];
      const [holder, waiter, other] = [one.newOwner(), two.newOwner(), three.newOwner()];
      await one.take(KEY, holder);
      await two.acquire(KEY, waiter, { wait: true, lease: 10, claimLease: 10 });
      // The grant is pushed, and ends, while the next request is on the way.
      for (const member of members) member.way = () => elapse(100);
      void two.acquire(KEY, waiter, waiting);
      for (const member of members) member.way = () => Promise.resolve();
      await one.release(KEY, holder);
      await until('the first grant', () => two.grants.length === 1, { every: 1 });
      await elapse(20);
      const between = await three.take(KEY, other);
      await three.release(KEY, other);
      await elapse(100);
      expect(granted(await two.acquire(KEY, waiter, waiting))).toBeGreaterThan(between);
      await two.cancel(KEY, waiter);
      await noHolders(members);
    });
  });
});
