import { expect, it } from '@jest/globals';
import { LockLostError, LockUnavailableError } from '../../../lib/index.js';
import { queuedIn, type LockApp } from '../../support/lock-app.js';
import { next, rejectionOf, until, within } from '../../support/until.js';
import type { StoreScene } from '../scenes/store-scene.js';

/** Waits for a lock once, which opens all connections that an application uses. */
async function waitOnce(app: LockApp, other: LockApp, key: string): Promise<void> {
  const held = await other.locks.acquire(key);
  const waiting = app.locks.acquire(key);
  await queuedIn(app, key);
  await held.release();
  await (await waiting).release();
}

/** Connections that are cut, half open or not yet established, and notifications that get lost. */
export function connectionRules(scene: StoreScene): void {
  it('F65: hundreds of the longest keys with the longest label cost no connection', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ port: proxy.port, watchdogTimeout: 12_000 });
    const held = await app.locks.acquire(scene.key());
    const start = scene.key();
    const keys = Array.from({ length: 470 }, (_, index) => `${start}${String(index)}`.padEnd(1_024, '/'));
    // A machine that is too busy for the reply timeout costs one now and then, requests that are too long cost one each time.
    let closed = Infinity;
    for (let attempt = 0; attempt < 5 && closed > 0; attempt++) {
      const { connectionsAccepted } = proxy;
      const all = await app.locks.acquire(keys, { label: '€'.repeat(200), waitTime: 120_000 });
      expect(all.keys).toHaveLength(470);
      expect(await all.release()).toBe('released');
      closed = proxy.connectionsAccepted - connectionsAccepted;
    }
    expect(closed).toBe(0);
    expect(held.isHeld).toBe(true);
    expect(await held.release()).toBe('released');
    expect(app.events('lost')).toEqual([]);
    await scene.nothingLeft();
  });

  it('F13: a hold outlives a cut connection, and is verified when it is back', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ port: proxy.port });
    const handle = await app.locks.acquire(scene.key());
    const renewed = next(app.locks.events, (event) => event.type === 'renewed');
    expect(proxy.cut()).toBeGreaterThan(0);
    await renewed;
    expect(handle.isHeld).toBe(true);
    expect(await handle.release()).toBe('released');
    await scene.nothingLeft();
  });

  it('F13: a hold that cannot be renewed until its deadline is lost then, by the local clock', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ port: proxy.port, watchdogTimeout: 900 });
    const handle = await app.locks.acquire(scene.key());
    const lost = next(app.locks.events, (event) => event.type === 'lost');
    await proxy.refuse();
    proxy.cut();
    await lost;
    expect(handle.isHeld).toBe(false);
    expect(handle.signal.reason).toBeInstanceOf(LockLostError);
    await proxy.accept();
    await scene.nothingLeft();
  });

  it('B15, F13: a lock that is released while the connection is down is released when it is back', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ port: proxy.port });
    const handle = await app.locks.acquire(scene.key());
    await proxy.refuse();
    proxy.cut();
    await until('the cut is detected', () => app.admin.status().store.reachable === false);
    const released = handle.release();
    await proxy.accept();
    expect(await within(15_000, 'the release', released)).toBe('released');
    await scene.nothingLeft();
  });

  it('F14: a waiter whose connection is cut while the lock is released gets it within a poll', async () => {
    const proxy = await scene.proxy();
    const [app, holder] = [await scene.app({ port: proxy.port }), await scene.app()];
    await waitOnce(app, holder, scene.key());
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    const waiting = app.locks.acquire(key, { waitTime: 15_000 });
    await until('it waits', async () => (await holder.admin.inspect(key))?.waiting === 1);
    const deliver = proxy.hold('replies', scene.brings);
    await handle.release();
    expect(proxy.cut(scene.brings)).toBeGreaterThan(0);
    deliver();
    await (await within(10_000, 'the lock', waiting)).release();
    await scene.nothingLeft();
  });

  it('F14: a half-open connection costs a waiter one poll and one timeout, and is then closed', async () => {
    const proxy = await scene.proxy();
    const [app, holder] = [await scene.app({ port: proxy.port }), await scene.app()];
    await waitOnce(app, holder, scene.key());
    const mute = proxy.connections.filter(scene.brings);
    expect(mute).toHaveLength(1);
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    const waiting = app.locks.acquire(key, { waitTime: 15_000 });
    await until('it waits', async () => (await holder.admin.inspect(key))?.waiting === 1);
    const accepted = proxy.connectionsAccepted;
    for (const connection of mute) connection.swallow('replies');
    await handle.release();
    await (await within(10_000, 'the lock', waiting)).release();
    await until('another one is opened', () => proxy.connectionsAccepted > accepted);
    await scene.nothingLeft();
  });

  it('P14: lost events delay a waiter by one poll at most', async () => {
    const { store, missed } = scene.deaf();
    const [holder, waiter] = [await scene.app(), await scene.app({ store })];
    const turn = async (): Promise<boolean> => {
      const [held, shared] = [scene.key(), scene.key()];
      const keys = [held];
      const handles = [await holder.locks.acquire(held)];
      const waiting = [waiter.locks.acquire(held, { waitTime: 15_000 })];
      if (!scene.isExclusive) {
        const permits = { limit: 2, waitTime: 15_000 };
        keys.push(shared);
        handles.push(await holder.locks.acquire(shared, permits));
        handles.push(await holder.locks.acquire(shared, { ...permits, fair: true }));
        waiting.push(waiter.locks.acquire(shared, permits));
      }
      await Promise.all(keys.map((key) => queuedIn(waiter, key)));
      await Promise.all(handles.map((handle) => handle.release()));
      for (const handle of await within(10_000, 'the locks', Promise.all(waiting))) await handle.release();
      return missed() > 0;
    };
    await until('it has missed some', turn, { deadline: 60_000 });
    await scene.nothingLeft();
  });

  it('F14, P14: when the server ends their sessions holders are notified, and waiters join the queue again', async () => {
    if (!scene.keepsLocksInSessions) return;
    const proxy = await scene.proxy();
    const { port } = proxy;
    const [app, other] = [await scene.app({ port }), await scene.app({ port })];
    const key = scene.key();
    const handle = await app.locks.acquire(key);
    const waiting = other.locks.acquire(key, { waitTime: 30_000 });
    await queuedIn(other, key);
    const lost = next(app.locks.events, (event) => event.type === 'lost', 60_000);
    await scene.endSessions(proxy);
    const second = await within(10_000, 'the lock', waiting);
    expect(second.token).toBeGreaterThan(handle.token);
    // Otherwise it is notified at its next renewal.
    await handle.extend(35_000).catch(() => undefined);
    expect(await lost).toMatchObject({ key });
    await second.release();
    await app.locks.withLock(key, { waitTime: 15_000 }, () => undefined);
    await scene.nothingLeft();
  });

  it('F16, B6: an application starts without the server, and locks work as soon as it is there', async () => {
    const proxy = await scene.proxy();
    await proxy.refuse();
    const app = await scene.app({ port: proxy.port });
    expect(app.log.matching(scene.title)).not.toEqual([]);
    expect(await rejectionOf(app.locks.acquire(scene.key(), { waitTime: 100 }))).toBeInstanceOf(
      LockUnavailableError,
    );
    await proxy.accept();
    await app.locks.withLock(scene.key(), { waitTime: 15_000 }, () => undefined);
    await scene.nothingLeft();
  });

  it('F16: a connection that is lost before it was ready is followed by a usable one', async () => {
    const proxy = await scene.proxy();
    const isLost = proxy.loseReply(scene.opens);
    const app = await scene.app({ port: proxy.port });
    await isLost;
    await app.locks.withLock(scene.key(), { waitTime: 15_000 }, () => undefined);
    await scene.nothingLeft();
  });

  it('B65: with onUnavailable local, locks are held in the process while the server is unreachable', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ port: proxy.port, onUnavailable: 'local' });
    await proxy.refuse();
    proxy.cut();
    const localHold = await app.locks.acquire(scene.key(), { waitTime: 10_000 });
    expect(localHold.local).toBe(true);
    await localHold.release();
    const back = next(app.locks.events, (event) => event.type === 'local' && !event.local, 15_000);
    await proxy.accept();
    await back;
    const handle = await app.locks.acquire(scene.key());
    expect(handle.local).toBe(false);
    await handle.release();
    await scene.nothingLeft();
  });
}
