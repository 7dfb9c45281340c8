import { afterEach, describe, expect, it } from '@jest/globals';
import { whenReplied } from '../../../../lib/common/deferred.js';
import type {
  AcquireRequest,
  LockStoreClient,
  LockStoreSession,
  MonotonicMs,
  OwnerId,
} from '../../../../lib/stores/port/index.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { PortClient } from '../../../contract/port-client.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { MemberUnderControl } from '../../../support/member-under-control.js';
import { elapse, until } from '../../../support/until.js';

inVirtualTime();

const KEY = 'key';

describe('an owner of a quorum that the engine withdraws in the moment of a reply', () => {
  const sessions: LockStoreSession[] = [];
  afterEach(async () => {
    messages.length = tokens.length = 0;
    await Promise.all(sessions.splice(0).map((session) => session.close()));
  });

  /** The messages to the engine, in order, and the tokens of pushed grants. */
  const messages: string[] = [];
  const tokens: number[] = [];

  async function open(store: QuorumLockStore, id: string): Promise<LockStoreSession> {
    const client: LockStoreClient = {
      id,
      watchdogTimeout: 30_000,
      now: () => performance.now() as MonotonicMs,
      granted: (owner, { token }) => {
        messages.push(`${owner} granted`);
        tokens.push(token);
      },
      broken: () => undefined,
      heldByOthers: () => undefined,
      isWanted: () => true,
      pollNow: () => undefined,
      reconnected: () => undefined,
      locksLocally: () => undefined,
      warn: () => undefined,
    };
    const session = store.open(client);
    await session.start();
    sessions.push(session);
    return session;
  }

  const requestOf = (owner: OwnerId): AcquireRequest => ({
    key: KEY,
    owner,
    lease: 20_000,
    claimLease: 2_000,
    wait: true,
    callers: 1,
    tokens: 1,
    contended: false,
    limit: 1,
    permits: 1,
    label: undefined,
  });

  /** Requests the lock, and withdraws the owner as soon as a reply says that it is queued. */
  function askAndLeave(session: LockStoreSession, owner: OwnerId): void {
    whenReplied(
      session.acquire(requestOf(owner)),
      ({ outcome }) => {
        messages.push(`${owner} ${outcome}`);
        void session.cancel({ key: KEY, owner, inDoubt: false });
      },
      () => messages.push(`${owner} failed`),
    );
  }

  async function expectFree(members: readonly MemberUnderControl[]): Promise<void> {
    await elapse(1_200);
    for (const member of members) {
      const solo = await PortClient.open(member);
      expect(await solo.lockOf(KEY)).toBeNull();
    }
  }

  it('P42: is not granted the lock afterwards when pushed grants completed its votes', async () => {
    const members = Array.from({ length: 3 }, (_, index) => new MemberUnderControl(index));
    const store = new QuorumLockStore(members);
    const [one, two] = [await open(store, 'one'), await open(store, 'two')];
    const [holder, waiter] = ['one:1' as OwnerId, 'two:1' as OwnerId];
    expect(await one.acquire(requestOf(holder))).toMatchObject({ outcome: 'granted' });
    expect(await two.acquire(requestOf(waiter))).toMatchObject({ outcome: 'queued' });
    for (const member of members) Object.assign(member, { condition: 'slow', slowAt: 'acquire' });
    askAndLeave(two, waiter);
    await one.release({ key: KEY, owner: holder, inDoubt: false });
    await until('it has a reply', () => messages.includes('two:1 queued'));
    await expectFree(members);
    expect(messages).toEqual(['two:1 granted', 'two:1 queued']);
  });

  it('B16: gets a new token when its pushed votes have ended, and another owner has held the lock', async () => {
    const members = Array.from({ length: 3 }, (_, index) => new MemberUnderControl(index));
    const store = new QuorumLockStore(members);
    const [one, two, three] = [
      await open(store, 'one'),
      await open(store, 'two'),
      await open(store, 'three'),
    ];
    const [holder, waiter, other] = ['one:1' as OwnerId, 'two:1' as OwnerId, 'three:1' as OwnerId];
    expect(await one.acquire(requestOf(holder))).toMatchObject({ outcome: 'granted' });
    const brief = { ...requestOf(waiter), lease: 10, claimLease: 10 };
    expect(await two.acquire(brief)).toMatchObject({ outcome: 'queued' });
    // The grant is pushed, and ends, while the next request is on the way.
    for (const member of members) member.way = () => elapse(100);
    void two.acquire(requestOf(waiter));
    for (const member of members) member.way = () => Promise.resolve();
    await one.release({ key: KEY, owner: holder, inDoubt: false });
    await until('the first grant', () => tokens.length === 1, { every: 1 });
    await elapse(20);
    const between = await three.acquire(requestOf(other));
    await three.release({ key: KEY, owner: other, inDoubt: false });
    await elapse(100);
    const last = await two.acquire(requestOf(waiter));
    expect([between, last]).toMatchObject([{ outcome: 'granted' }, { outcome: 'granted' }]);
    expect('token' in last && last.token).toBeGreaterThan('token' in between ? between.token : Infinity);
    await two.cancel({ key: KEY, owner: waiter, inDoubt: false });
    await expectFree(members);
  });
});
