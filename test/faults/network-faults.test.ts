import { describe, expect, it } from '@jest/globals';
import { LockLostError } from '../../lib/index.js';
import { latenessOfAbort } from '../support/lateness.js';
import { queuedIn } from '../support/lock-app.js';
import { elapse, next, stateOf, until, within } from '../support/until.js';
import { about, RedisScene } from './redis-scene.js';

describe.each([0, 40])('faults of the network, %d ms away', (delay) => {
  const scene = new RedisScene({ delay, inVirtualTime: true });

  it('F13: a hold survives when renewals are lost for less than its deadline', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url, watchdogTimeout: 3_000 });
    const handle = await app.locks.acquire(scene.key());
    for (let blip = 0; blip < 2; blip++) {
      const failed = next(app.locks.events, (event) => event.type === 'renewal-failed');
      const restore = proxy.swallow('replies');
      await failed;
      restore();
      await next(app.locks.events, (event) => event.type === 'renewed');
    }
    expect(handle.isHeld).toBe(true);
    expect(app.events('lost')).toEqual([]);
    expect(await handle.release()).toBe('released');
    await scene.nothingLeft();
  });

  it('F13: when all renewals are lost the hold is lost at its deadline (± 20 ms)', async () => {
    let late = Infinity;
    for (let attempt = 0; attempt < 12 && late > 20; attempt++) {
      const proxy = await scene.proxy();
      const app = await scene.app({ redis: proxy.url, watchdogTimeout: 1_000 });
      const handle = await app.locks.acquire(scene.key());
      const restore = proxy.swallow('replies');
      const lateness = await latenessOfAbort(handle);
      expect(lateness.early).toBeLessThanOrEqual(20);
      late = lateness.late;
      expect(handle.signal.reason).toBeInstanceOf(LockLostError);
      expect(handle.signal.reason).toMatchObject({ reason: 'unreachable' });
      expect(handle.isHeld).toBe(false);
      restore();
    }
    expect(late).toBeLessThanOrEqual(20);
    await scene.nothingLeft();
  });

  it('B22: the deadline is measured from before the acquire is sent', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    const deliver = proxy.hold('replies');
    const acquiring = app.locks.acquire(scene.key(), { leaseTime: 5_000 });
    await elapse(700);
    expect(await stateOf(acquiring)).toBe('pending');
    deliver();
    const handle = await acquiring;
    expect(handle.remaining).toBeLessThanOrEqual(4_300);
    await handle.release();
  });

  it('B22: the deadline of a renewal is measured from before it is sent', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url, watchdogTimeout: 5_400 });
    const key = scene.key();
    const handle = await app.locks.acquire(key);
    const renewed = next(app.locks.events, (event) => event.type === 'renewed');
    const sent = proxy.request(about(key));
    const deliver = proxy.hold('replies');
    await sent;
    // Less than the 900 ms after which the request counts as failed.
    await elapse(500);
    deliver();
    expect((await renewed).remaining).toBeLessThanOrEqual(4_900);
    await handle.release();
  });

  it('P13: the deadline of a pushed grant is measured from before the grant', async () => {
    const proxy = await scene.proxy();
    const [app, holder] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    const waiting = app.locks.acquire(key, { waitTime: 15_000 });
    await queuedIn(app, key);
    const deliveries = [proxy.hold('requests'), proxy.hold('replies')];
    await handle.release();
    // Longer than the claim lease of two seconds: the grant has expired when it arrives, and must not start a hold.
    await elapse(2_300);
    const third = await holder.locks.acquire(key, { waitTime: 0 });
    for (const deliver of deliveries) deliver();
    await elapse(100);
    expect(await stateOf(waiting)).toBe('pending');
    expect(third.isHeld).toBe(true);
    await third.release();
    const got = await within(3_000, 'the lock', waiting);
    expect(got.token).toBeGreaterThan(third.token);
    await got.release();
    await scene.nothingLeft();
  });

  it('F14: a half-open subscription costs at most one poll', async () => {
    const proxy = await scene.proxy();
    const [app, holder] = [await scene.app({ redis: proxy.url }), await scene.app()];
    await waitOnce();
    const restore = proxy.swallow('replies', (connection) => connection.subscribes);
    for (let round = 0; round < 3; round++) expect(await waitOnce()).toBeLessThan(1_800);
    restore();
    await scene.nothingLeft();

    async function waitOnce(): Promise<number> {
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(app, key);
      await handle.release();
      const start = performance.now();
      await (await waiting).release();
      return performance.now() - start;
    }
  });

  it('B11: a store of which only the connection for messages is up is unreachable', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    await app.locks.withLock(scene.key(), () => undefined);
    await until('the subscription', () => proxy.connections.some((connection) => connection.subscribes));
    await proxy.refuse();
    proxy.cut((connection) => !connection.subscribes);
    await until('the loss', () => app.admin.status().store.connections?.some(({ isOpen }) => !isOpen));
    expect(app.admin.status().store.reachable).toBe(false);
    await proxy.accept();
    await app.locks.withLock(scene.key(), { waitTime: 10_000 }, () => undefined);
    await scene.nothingLeft();
  });

  it('F14, P14: after a re-subscription waiters poll immediately', async () => {
    const proxy = await scene.proxy();
    const [app, holder] = [await scene.app({ redis: proxy.url }), await scene.app()];
    let best = Infinity;
    for (let round = 0; round < 5 && best > 600; round++) {
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(app, key);
      expect(proxy.cut((connection) => connection.subscribes)).toBeGreaterThan(0);
      await elapse(5);
      await handle.release();
      const start = performance.now();
      await (await waiting).release();
      best = Math.min(best, performance.now() - start);
      expect(best).toBeLessThan(1_800);
    }
    expect(best).toBeLessThan(600);
    await scene.nothingLeft();
  });
});
