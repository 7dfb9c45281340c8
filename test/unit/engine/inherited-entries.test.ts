import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError, type LockOptions } from '../../../lib/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { type LockApp, lockApps } from '../../support/lock-app.js';
import { granted, queued, ScriptedStore } from '../../support/scripted-store.js';
import { elapse, rejectionOf, within } from '../../support/until.js';

inVirtualTime();

describe('a ticket that passes to another caller, or is left without one', () => {
  const startApp = lockApps({ shutdownTimeout: 0 });

  async function start(store = new ScriptedStore()): Promise<{ store: ScriptedStore; app: LockApp }> {
    return { store, app: await startApp({ store }) };
  }

  /** A store with the request of a caller that was aborted since. */
  async function abandoned(options: LockOptions) {
    const { store, app } = await start();
    const stop = new AbortController();
    const aborted = rejectionOf(app.locks.acquire('key', { ...options, signal: stop.signal }));
    const first = await store.request(0);
    stop.abort();
    await aborted;
    return { store, app, first };
  }

  it('P12: a grant pushed for a shorter leaseTime is claimed before the next caller holds the lock', async () => {
    const { store, app } = await start();
    const stop = new AbortController();
    const short = rejectionOf(
      app.locks.acquire('key', { leaseTime: 30, waitTime: 60_000, signal: stop.signal }),
    );
    const first = await store.request(0);
    const next = app.locks.acquire('key', { waitTime: 60_000 });
    stop.abort();
    await short;
    store.push(first.owner, 1, first.claimLease);
    first.answer(queued);
    const second = await store.request(1);
    expect(second).toMatchObject({ owner: first.owner, lease: 30_000 });
    second.answer(granted(1));
    const handle = await within(1_000, 'the lock', next);
    expect(handle.remaining).toBeGreaterThan(20_000);
    await elapse(100);
    expect(handle.isHeld).toBe(true);
    await handle.release();
  });

  it('P14: a grant that is pushed after the reply that reported it, or twice, changes nothing', async () => {
    const { store, app } = await start();
    for (const isReplied of [true, false]) {
      const count = store.asked.length;
      const waiting = app.locks.acquire('key', { waitTime: 60_000 });
      const { owner, answer } = await store.request(count);
      answer(isReplied ? granted(1) : queued);
      await elapse(1);
      store.push(owner, 1);
      const handle = await within(1_000, 'the lock', waiting);
      store.push(owner, 1);
      await elapse(100);
      expect(store.asked).toHaveLength(count + 1);
      expect(handle.isHeld).toBe(true);
      expect(await handle.release()).toBe('released');
    }
  });

  it('B11: a grant that nobody takes does not show that others hold the lock', async () => {
    const { store, app, first } = await abandoned({ limit: 3, permits: 2, waitTime: 60_000 });
    const later = rejectionOf(app.locks.acquire('key', { limit: 3, waitTime: 40 }));
    await store.request(1);
    first.answer(granted(1));
    expect(await later).toBeInstanceOf(LockUnavailableError);
  });

  it('B11: a lock that this process kept for its next caller, and returned without a reply, was held', async () => {
    const store = new ScriptedStore();
    store.reserving = () => new Promise(() => undefined);
    const { app } = await start(store);
    const holding = app.locks.acquire('key', { waitTime: 0 });
    (await store.request(0)).answer(granted(1));
    const handle = await holding;
    const waiting = rejectionOf(app.locks.acquire('key', { waitTime: 60 }));
    await elapse(10);
    await handle.release();
    await store.request(1);
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
  });

  it('B11: a grant that was pushed too late shows that others held the lock until then', async () => {
    const { store, app } = await start();
    const short = rejectionOf(app.locks.acquire('key', { leaseTime: 20, waitTime: 60_000 }));
    (await store.request(0)).answer(queued);
    await elapse(10);
    const waiting = rejectionOf(app.locks.acquire('key', { waitTime: 100 }));
    await elapse(40);
    // It and the reply to the next request come too late for the lease of the first caller.
    store.push(store.asked[0]!.owner, 1, 20, 25);
    const second = await store.request(1);
    await elapse(30);
    second.answer(granted(1));
    await short;
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
  });

  it('B11: a late grant in reply to a poll shows that others held the lock until then', async () => {
    const { store, app } = await start();
    const short = rejectionOf(app.locks.acquire('key', { leaseTime: 20, waitTime: 60_000 }));
    (await store.request(0)).answer(queued);
    await elapse(900);
    const waiting = rejectionOf(app.locks.acquire('key', { waitTime: 200 }));
    // The poll, and the attempt after its late reply.
    for (const attempt of [1, 2]) {
      const request = await store.request(attempt);
      await elapse(30);
      request.answer(granted(attempt));
    }
    expect(await short).toBeInstanceOf(LockUnavailableError);
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
  });

  it('B11: what was known of a former holder does not outlive the calls that it kept waiting', async () => {
    const { store, app } = await start();
    store.cancelling = () => new Promise(() => undefined);
    // Its withdrawal is never confirmed.
    const failing = rejectionOf(app.locks.acquire('key', { waitTime: 50 }));
    (await store.request(0)).answer(queued);
    expect(await failing).toBeInstanceOf(LockTimeoutError);
    const acquiring = app.locks.acquire('key');
    (await store.request(1)).answer(granted(1));
    await (await acquiring).release();
    const unanswered = rejectionOf(app.locks.acquire('key', { waitTime: 50 }));
    await store.request(2);
    expect(await unanswered).toBeInstanceOf(LockUnavailableError);
  });

  it('B10: a wait beside a hold of its own process is extended for the first reply, too', async () => {
    const { store, app } = await start();
    const holding = app.locks.acquire('key', { limit: 3 });
    (await store.request(0)).answer(granted(1));
    const handle = await holding;
    // When this caller leaves, the report that it received no longer counts.
    const stop = new AbortController();
    const leaving = rejectionOf(app.locks.acquire('key', { limit: 3, permits: 2, signal: stop.signal }));
    (await store.request(1)).answer(queued);
    stop.abort();
    await leaving;
    await elapse(10);
    const waiting = rejectionOf(app.locks.acquire('key', { limit: 3, permits: 2, waitTime: 5 }));
    const last = await store.request(2);
    await elapse(20);
    last.answer(queued);
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
    await handle.release();
  });

  it('B11: a reader learns from a reservation that others come first', async () => {
    const store = new ScriptedStore();
    store.reserving = async () => {
      await elapse(10);
      return { outcome: 'reserved', token: 2, othersWait: true };
    };
    const { app } = await start(store);
    const reading = app.locks.acquire('key', { mode: 'shared' });
    (await store.request(0)).answer(granted(1));
    const handle = await reading;
    // Without a ticket, nothing else shows that the lock is held.
    const stop = new AbortController();
    const options = { mode: 'shared', leaseTime: 1_000, signal: stop.signal } as const;
    const leaving = rejectionOf(app.locks.acquire('key', options));
    (await store.request(1)).answer(queued);
    stop.abort();
    await leaving;
    const waiting = rejectionOf(app.locks.acquire('key', { mode: 'shared', waitTime: 60 }));
    await store.request(2);
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
    await handle.release();
  });

  it.each([
    { what: 'a ticket that no caller needs', waitTime: 60_000, asks: { limit: 1 } },
    { what: 'a ticket that no caller needs', waitTime: 60_000, asks: {} },
    { what: 'a ticket that no caller needs', waitTime: 60_000, asks: { fair: true } },
    { what: 'an aborted attempt', waitTime: 0, asks: { limit: 1 } },
    { what: 'an aborted attempt', waitTime: 0, asks: {} },
  ])(
    'B11: an attempt is repeated when the lock was held only by $what: $asks',
    async ({ waitTime, asks }) => {
      const { store, app, first } = await abandoned({ ...asks, waitTime });
      const trying = app.locks.tryAcquire('key', asks);
      const second = await store.request(1);
      second.answer({ outcome: 'busy', holderLeaseLeft: 30_000 });
      first.answer(granted(1));
      const third = await within(1_000, 'another request', store.request(2));
      expect(store.cancelled).toEqual([expect.objectContaining({ owner: first.owner })]);
      third.answer(granted(2));
      const handle = await trying;
      expect(handle?.token).toBe(2);
      await handle?.release();
      expect(app.events('timeout')).toEqual([]);
    },
  );

  it('isLocked() does not report a lock that was held only by a ticket that no caller needs', async () => {
    const { store, app, first } = await abandoned({ waitTime: 60_000 });
    store.held = first.owner;
    const isLocked = app.locks.isLocked('key');
    await elapse(1);
    first.answer(granted(1));
    expect(await isLocked).toBe(false);
  });
});
