import { describe, expect, it } from '@jest/globals';
import { LockClosedError, MemoryLockStore, type LockHandle } from '../../../lib/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { type LockApp, lockApps } from '../../support/lock-app.js';
import { blockEventLoop, elapse, gate, rejectionOf, within } from '../../support/until.js';

inVirtualTime();

const shared = { mode: 'shared' } as const;

/** The handle keeps its lock in the store until it is released. */
async function expectHeld(handle: LockHandle, other: LockApp): Promise<void> {
  await elapse(10);
  expect(handle.isHeld).toBe(true);
  expect(await other.locks.isLocked('key')).toBe(true);
  expect(await handle.release()).toBe('released');
  expect(await other.locks.isLocked('key')).toBe(false);
}

describe('an event during another one', () => {
  const start = lockApps({ shutdownTimeout: 0 });

  /** A reader, and one that has begun beside it with a reserved token and ended, so that others may begin without a request. */
  async function reading(app: LockApp): Promise<LockHandle> {
    const [first, second] = [await app.locks.acquire('key', shared), await app.locks.acquire('key', shared)];
    await second.release();
    return first;
  }

  /** A writer that waits behind the readers, and that stops waiting when an event of this type is emitted. */
  function writerUntil(app: LockApp, type: string): Promise<unknown> {
    const stop = new AbortController();
    app.locks.events.subscribe((event) => {
      if (event.type === type) stop.abort(new Error('stopped by the listener'));
    });
    return rejectionOf(app.locks.acquire('key', { signal: stop.signal }));
  }

  it('F26: a reader that begins on a ticket while the last one leaves it keeps the lock', async () => {
    const store = new MemoryLockStore();
    const [app, other] = [await start({ store }), await start({ store })];
    const first = await reading(app);
    const late = app.locks.tryAcquire('key', { waitTime: 5 });
    const stopped = writerUntil(app, 'skipped');
    const next = app.locks.acquire('key', shared);
    // Noticed when the reader leaves, before its timer.
    blockEventLoop(10);
    await first.release();
    expect(await late).toBeNull();
    await stopped;
    await expectHeld(await next, other);
  });

  it('F26: so does one that begins when the loss of another ticket is noticed', async () => {
    const store = new MemoryLockStore();
    const [app, other] = [await start({ store }), await start({ store })];
    await app.locks.acquire('key', { ...shared, leaseTime: 100 });
    await elapse(70);
    const first = await reading(app);
    const stopped = writerUntil(app, 'lost');
    const next = app.locks.acquire('key', shared);
    blockEventLoop(40);
    await first.release();
    await stopped;
    await expectHeld(await next, other);
  });

  it('F26: a call whose signal is aborted by a listener of its own event is aborted', async () => {
    const app = await start({ store: new MemoryLockStore() });
    const held = await app.locks.acquire('key');
    const stop = new AbortController();
    app.locks.events.subscribe(({ type }) => {
      if (type === 'queued') stop.abort(new Error('stopped by the listener'));
    });
    const waiting = rejectionOf(app.locks.acquire('key', { signal: stop.signal, waitTime: 1_000 }));
    expect(await waiting).toBe(stop.signal.reason);
    await held.release();
  });

  it('B23, B52: a branch that waits to re-enter a hold acquires the lock anew when that hold is lost', async () => {
    const app = await start({ store: new MemoryLockStore() });
    await app.locks.withLock('key', async () => {
      const inside = gate();
      const first = app.locks.withLock('key', () => inside.closed);
      const second = app.locks.withLock('key', { waitTime: 60_000 }, ({ token }) => token);
      await app.admin.forceRelease('key');
      expect(await within(1_000, 'the second branch', second)).toBeGreaterThan(0);
      inside.open();
      await first;
    });
  });

  it('B60: shutdown ends a wait that began when the loss of the last hold was noticed', async () => {
    const store = new MemoryLockStore();
    const [app, other] = [await start({ store }), await start({ store })];
    await app.locks.acquire('key', { leaseTime: 50 });
    blockEventLoop(80);
    const held = other.locks.acquire('key');
    const waiting = rejectionOf(app.locks.acquire('key', { waitTime: Infinity }));
    await held;
    expect(app.admin.waiting()).toHaveLength(1);
    await app.close();
    expect(await waiting).toBeInstanceOf(LockClosedError);
  });
});
