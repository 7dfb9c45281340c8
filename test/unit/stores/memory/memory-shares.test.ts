import { describe, expect, it } from '@jest/globals';
import type {
  AcquireRequest,
  LockStoreSession,
  MonotonicMs,
  OwnerId,
  PushedGrant,
} from '../../../../lib/stores/port/index.js';
import { MemoryLockStore } from '../../../../lib/index.js';

/** A clock, the sessions of two clients `a` and `b`, and the owners whose grants were pushed or broken. */
function scene(): {
  a: LockStoreSession;
  b: LockStoreSession;
  pushed: OwnerId[];
  broken: OwnerId[];
  pass: (ms: number) => void;
} {
  const store = new MemoryLockStore();
  const pushed: OwnerId[] = [];
  const broken: OwnerId[] = [];
  let now = 0;
  const open = (id: string): LockStoreSession =>
    store.open({
      id,
      watchdogTimeout: 30_000,
      now: () => now as MonotonicMs,
      granted: (owner: OwnerId, _: PushedGrant) => void pushed.push(owner),
      broken: (owner) => void broken.push(owner),
      heldByOthers: () => undefined,
      isWanted: () => true,
      pollNow: () => undefined,
      reconnected: () => undefined,
      locksLocally: () => undefined,
      warn: () => undefined,
    });
  const pass = (ms: number): void => {
    now += ms;
  };
  return { a: open('a'), b: open('b'), pushed, broken, pass };
}

function asking(owner: string, settings: Partial<AcquireRequest>): AcquireRequest {
  const lease = { lease: 20_000, claimLease: 2_000 };
  const terms = {
    wait: false,
    callers: 1,
    tokens: 1,
    contended: false,
    limit: 1,
    permits: 1,
    label: undefined,
  };
  return { key: 'key', owner: owner as OwnerId, ...lease, ...terms, ...settings };
}

describe('permits and read locks in memory', () => {
  it('a free lock has the limit of its waiters while they poll', async () => {
    const { a, b, pass, pushed } = scene();
    await a.acquire(asking('a:1', { limit: 2, lease: 100 }));
    await a.acquire(asking('a:2', { limit: 2, lease: 100 }));
    await b.acquire(asking('b:1', { limit: 2, wait: true }));
    pass(150);
    expect(await a.acquire(asking('a:3', { limit: Infinity }))).toEqual({ outcome: 'conflict', limit: 2 });
    await Promise.resolve();
    expect(pushed).toEqual(['b:1']);
    await a.acquire(asking('a:4', { limit: 2 }));
    await b.acquire(asking('b:2', { limit: 2, wait: true }));
    pass(30_000);
    expect(await a.acquire(asking('a:5', {}))).toMatchObject({ outcome: 'granted' });
  });

  it('a permit may be free when the first lease ends, an exclusive lock when the last one does', async () => {
    const { a, b, pass } = scene();
    await a.acquire(asking('a:1', { limit: Infinity, lease: 500 }));
    await a.acquire(asking('a:2', { limit: Infinity, lease: 800 }));
    expect(await b.acquire(asking('b:1', { wait: true }))).toEqual({
      outcome: 'queued',
      holderLeaseLeft: 800,
    });
    expect(await b.acquire(asking('b:2', { limit: Infinity }))).toEqual({
      outcome: 'busy',
      holderLeaseLeft: 500,
    });
    pass(600);
    expect((await b.inspect('key'))?.holders).toMatchObject([{ owner: 'a:2', leaseLeft: 200 }]);
    expect(await a.renew([{ key: 'key', owner: 'a:1' as OwnerId, lease: 500 }])).toEqual(['gone']);
    expect(await a.release({ key: 'key', owner: 'a:1' as OwnerId, inDoubt: false })).toBe('not-held');
  });

  it('a forced release serves the waiters of a lock whose lease has ended', async () => {
    const { a, b, broken, pushed, pass } = scene();
    await a.acquire(asking('a:1', { lease: 1_000 }));
    await b.acquire(asking('b:1', { wait: true }));
    pass(1_500);
    expect(await a.breakHold('key')).toBe('free');
    await Promise.resolve();
    expect({ broken, pushed }).toEqual({ broken: [], pushed: ['b:1'] });
  });

  it('a forced release notifies all holders, and serves the waiters together', async () => {
    const { a, b, broken, pushed } = scene();
    await a.acquire(asking('a:1', { limit: 2 }));
    await a.acquire(asking('a:2', { limit: 2 }));
    for (const owner of ['b:1', 'b:2', 'b:3']) await b.acquire(asking(owner, { limit: 2, wait: true }));
    expect(await b.breakHold('key')).toBe('broken');
    await Promise.resolve();
    expect(broken).toEqual(['a:1', 'a:2']);
    expect(pushed).toEqual(['b:1', 'b:2']);
    expect((await b.inspect('key'))?.waiters).toMatchObject([{ owner: 'b:3', limit: 2 }]);
  });

  it('an exact renewal shortens the lease', async () => {
    const { a } = scene();
    const owner = 'a:1' as OwnerId;
    for (const limit of [1, 2]) {
      await a.acquire(asking(owner, { limit }));
      expect(await a.renew([{ key: 'key', owner, lease: 50 }])).toEqual(['renewed']);
      expect((await a.inspect('key'))?.holders).toMatchObject([{ leaseLeft: 20_000 }]);
      expect(await a.renew([{ key: 'key', owner, lease: 50, exactly: true }])).toEqual(['renewed']);
      expect((await a.inspect('key'))?.holders).toMatchObject([{ leaseLeft: 50 }]);
      await a.release({ key: 'key', owner, inDoubt: false });
    }
  });
});
