import { expect, it } from '@jest/globals';
import { backoff, LockUnavailableError, type LockOptions } from '../../../lib/index.js';
import { PortClient } from '../../contract/port-client.js';
import { queuedIn } from '../../support/lock-app.js';
import { reached } from '../../support/reached.js';
import { rejectionOf, until, within } from '../../support/until.js';
import type { Fits, StoreScene } from '../scenes/store-scene.js';

/** Matches requests for this lock. */
const about =
  (key: string): Fits =>
  (request) =>
    request.includes(key);

/** A request or its reply that the network loses or delivers late. */
export function lostMessageRules(scene: StoreScene): void {
  it.each<[string, LockOptions]>([
    ['an acquire', {}],
    ['an acquire with retry', { retry: { backoff: backoff.fixed(20) } }],
  ])('F10, P33: %s that was executed but whose reply was lost is exactly one grant', async (_, options) => {
    const proxy = await scene.proxy();
    const [app, other] = [await scene.app({ port: proxy.port }), await scene.app()];
    for (let round = 0; round < 5; round++) {
      const key = scene.key();
      const lost = proxy.loseReply(about(key));
      const asking = app.locks.acquire(key, { ...options, waitTime: 10_000 });
      const handle = await within(10_000, 'the lock', asking);
      await lost;
      const info = await other.admin.inspect(key);
      expect(info?.holders).toHaveLength(1);
      expect(info?.waiting).toBe(0);
      expect(info?.token).toBe(handle.token);
      expect(await handle.release()).toBe('released');
    }
    await scene.nothingLeft();
  });

  it('F10: an acquire that was executed, whose reply was lost and that was given up is cancelled', async () => {
    const proxy = await scene.proxy();
    const [app, other] = [await scene.app({ port: proxy.port }), await scene.app()];
    const key = scene.key();
    const lost = proxy.loseReply(about(key));
    const failing = rejectionOf(app.locks.acquire(key, { waitTime: 500 }));
    await lost;
    await proxy.refuse();
    proxy.cut();
    expect(await failing).toBeInstanceOf(LockUnavailableError);
    await proxy.accept();
    // The ghost's lease would last for 30 s.
    await (await other.locks.acquire(key, { waitTime: 15_000 })).release();
    await scene.nothingLeft();
  });

  it('F10: a queueing request whose reply was lost keeps one queue position', async () => {
    const proxy = await scene.proxy();
    const [app, holder] = [await scene.app({ port: proxy.port }), await scene.app()];
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    const lost = proxy.loseReply(scene.queues(key));
    const waiting = app.locks.acquire(key, { waitTime: 30_000 });
    await lost;
    await until('it waits', async () => (await holder.admin.inspect(key))?.waiting === 1);
    await handle.release();
    await (await within(10_000, 'the lock', waiting)).release();
    await scene.nothingLeft();
  });

  it('F11, P32: a request that arrives late does not leave a lock behind', async () => {
    const proxy = await scene.proxy();
    const [app, other] = [await scene.app({ port: proxy.port }), await scene.app()];
    const key = scene.key();
    const deliver = proxy.hold('requests');
    expect(await rejectionOf(app.locks.acquire(key, { waitTime: 200 }))).toBeInstanceOf(LockUnavailableError);
    deliver();
    await (await other.locks.acquire(key, { waitTime: 15_000 })).release();
    await scene.nothingLeft();
  });

  it('F12: when the reply of a release is lost the next waiter does not wait for the lease', async () => {
    const proxy = await scene.proxy();
    const [app, waiter] = [await scene.app({ port: proxy.port }), await scene.app()];
    const key = scene.key();
    const handle = await app.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, { waitTime: 15_000 });
    await queuedIn(waiter, key);
    const lost = proxy.loseReply(about(key));
    const releasing = handle.release();
    await lost;
    const second = await within(10_000, 'the next holder', waiting);
    expect(['released', 'expired', 'unknown']).toContain(await releasing);
    expect(handle.isHeld).toBe(false);
    expect(second.isHeld).toBe(true);
    expect(await second.release()).toBe('released');
    await scene.nothingLeft();
  });
}

/** What happens to requests of an owner that was given up. */
export function lateRequestRules(scene: StoreScene): void {
  it('P32: a cancel after a lost reply frees the lock, and late requests of the owner are rejected', async () => {
    const proxy = await scene.proxy();
    const client = scene.endings.app(await PortClient.open(scene.storeAt(proxy.port)));
    const other = scene.endings.app(await PortClient.open(scene.storeAt(scene.server.port)));
    const [key, owner] = [scene.key(), client.newOwner()];
    const [earlier, first] = [scene.key(), client.newOwner()];
    // From here on, the client can queue without any preceding request.
    await reached(() => client.acquire(earlier, first));
    await reached(() => client.release(earlier, first));
    const speak = proxy.swallow('replies');
    const asked = rejectionOf(client.acquire(key, owner));
    await until('the entry is in the queue', async () => (await reached(() => other.lockOf(key))) !== null);
    proxy.cut();
    speak();
    expect(await asked).toMatchObject({ inDoubt: true, unreachable: true });
    await reached(() => client.cancel(key, owner, true));
    expect(await reached(() => other.lockOf(key))).toBeNull();
    expect(await reached(() => client.acquire(key, owner))).toEqual({ outcome: 'cancelled' });
  });

  it('F11, P31: an acquire that was never delivered and was given up is never carried out', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ port: proxy.port });
    const key = scene.key();
    await proxy.refuse();
    proxy.cut();
    expect(await rejectionOf(app.locks.acquire(key, { waitTime: 200 }))).toBeInstanceOf(LockUnavailableError);
    let asked = 0;
    const asks = scene.asks(key);
    // Cancel requests are allowed; acquire requests are not.
    void proxy.request((request) => {
      if (asks(request)) asked += 1;
      return false;
    });
    await proxy.accept();
    await app.locks.withLock(scene.key(), { waitTime: 15_000 }, () => undefined);
    expect(await app.locks.isLocked(key)).toBe(false);
    expect(asked).toBe(0);
    // Shows that the check above recognises an acquire.
    await app.locks.withLock(key, () => undefined);
    expect(asked).toBeGreaterThan(0);
    await scene.nothingLeft();
  });
}
