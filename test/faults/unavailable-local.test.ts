import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError, type LockHandle } from '../../lib/index.js';
import { latenessOfAbort } from '../support/lateness.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { next, rejectionOf, until, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

const patient = { waitTime: 15_000 };

describe.each([0, 40])('local locks while Redis is unreachable, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });
  const start = (settings: Parameters<RedisScene['app']>[0] = {}): Promise<LockApp> =>
    scene.app({ onUnavailable: 'local', ...settings });

  async function back(app: LockApp): Promise<void> {
    if (app.events('local').some(({ local }) => !local)) return;
    await next(app.locks.events, (event) => event.type === 'local' && !event.local);
  }

  /** Each change was reported once, and nothing else about the store was. */
  function expectOneChange(app: LockApp, events = [true, false]): void {
    expect(app.events('local').map(({ local }) => local)).toEqual(events);
    const lines = app.log.lines.filter(
      ({ message }) => /Locks (are|can)/.test(message) && !message.includes('kept in'),
    );
    expect(lines).toEqual([
      { level: 'warn', message: expect.stringMatching(/^Locks are acquired in this process only: .*Redis/) },
      { level: 'warn', message: expect.stringMatching(/^Locks are acquired in Redis at .* again\.$/) },
    ]);
  }

  async function localHold(app: LockApp, key = scene.key()): Promise<LockHandle> {
    const handle = await within(5_000, 'a lock of this process', app.locks.acquire(key, patient));
    expect(handle.local).toBe(true);
    return handle;
  }

  it('B65, F2: a hold of a stopped Redis is lost at its deadline, blocks local locks until then, and is never local', async () => {
    // The first renewal is sent after 800 ms, and fails 600 ms before the deadline.
    const app = await start({ watchdogTimeout: 2_400 });
    const key = scene.key();
    const held = await app.locks.acquire(key);
    scene.server.stop();
    try {
      const lateness = latenessOfAbort(held);
      const deadline = performance.now() + held.remaining;
      await (await localHold(app)).release();
      expect(performance.now()).toBeLessThan(deadline);
      expect(await app.locks.tryAcquire(key)).toBeNull();
      expect(await app.locks.isLocked(key)).toBe(true);
      const waiting = app.locks.acquire(key, patient).then((handle) => ({ handle, at: performance.now() }));
      const { early, late } = await lateness;
      expect(early).toBeLessThanOrEqual(20);
      expect(late).toBeLessThanOrEqual(50);
      const { handle, at } = await within(500, 'the lock after the loss', waiting);
      expect(at).toBeGreaterThanOrEqual(deadline - 20);
      expect([held.local, handle.local]).toEqual([false, true]);
      expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'unreachable' });
      expect(handle.token).toBeGreaterThan(held.token);
      await handle.release();
    } finally {
      scene.server.resume();
    }
    await back(app);
    expectOneChange(app);
    await scene.nothingLeft();
  });

  it('B65, F10: a request that Redis carries out when it resumes is cancelled, and the local hold stays', async () => {
    const app = await start({ watchdogTimeout: 1_200 });
    const [key, tried] = [scene.key(), scene.key()];
    scene.server.stop();
    let handles: (LockHandle | null)[];
    try {
      handles = await Promise.all([localHold(app, key), app.locks.tryAcquire(tried)]);
    } finally {
      scene.server.resume();
    }
    await back(app);
    await scene.nothingLeft();
    for (const handle of handles) {
      expect([handle?.isHeld, handle?.local]).toEqual([true, true]);
      expect(await handle?.release()).toBe('released');
    }
    expectOneChange(app);
  });

  it('B65: a short loss of the connection does not switch to local locks', async () => {
    const proxy = await scene.proxy();
    const app = await start({ redis: proxy.url });
    // A busy machine may take too long to reconnect.
    for (let calm = 0, rounds = 0; calm < 3; rounds++) {
      expect(rounds).toBeLessThan(50);
      const before = app.events('local').length;
      const cutAt = performance.now();
      proxy.cut();
      const handles = await Promise.all([
        app.locks.acquire(scene.key(), patient),
        app.locks.tryAcquire(scene.key()),
        app.locks.acquire(scene.key(), patient),
      ]);
      const wasAway = app.events('local').length > before || handles.some((handle) => handle?.local);
      if (wasAway) {
        expect(performance.now() - cutAt).toBeGreaterThan(100);
        await until('Redis is in use again', () => app.events('local').at(-1)?.local === false);
      } else calm += 1;
      for (const handle of handles) {
        expect(handle).not.toBeNull();
        await handle?.release();
      }
    }
  });

  it('B65: after Redis is back, a local hold still excludes this process, and its waiters continue in Redis', async () => {
    const proxy = await scene.proxy();
    // `log` is that of the application that was started last.
    const [other, app] = [await scene.app(), await start({ redis: proxy.url })];
    const key = scene.key();
    await proxy.refuse();
    proxy.cut();
    const local = await localHold(app, key);
    const waiting = app.locks.acquire(key, patient);
    await queuedIn(app, key);
    // The documented trade-off: another process has the lock as well.
    const theirs = await other.locks.acquire(key);
    await proxy.accept();
    await back(app);
    expect(await rejectionOf(app.locks.acquire(key, { waitTime: 100 }))).toBeInstanceOf(LockTimeoutError);
    expect(await app.locks.tryAcquire(key)).toBeNull();
    await local.release();
    await until('it is in the queue of Redis', async () => (await other.admin.inspect(key))?.waiting === 1);
    await theirs.release();
    const second = await within(1_000, 'the lock in Redis', waiting);
    expect(second.local).toBe(false);
    await second.release();
    expectOneChange(app);
    await scene.nothingLeft();
  });

  it('B65, B14: an application closes in time while Redis is unreachable', async () => {
    const app = await start();
    await scene.server.kill();
    try {
      await (await localHold(app)).release();
      const waiter = rejectionOf(localHold(app).then((held) => app.locks.acquire(held.key, patient)));
      await until('it waits', () => app.events('queued').length > 0);
      await within(2_000, 'the end', app.close());
      expect(await waiter).toMatchObject({ code: 'LOCK_CLOSED' });
    } finally {
      await scene.server.restart();
    }
  });

  it('B65: a wrong password is no outage, and no password is shown', async () => {
    await scene.client.acl('SETUSER', 'someone', 'on', '>s3cret', '~*', '&*', '+@all');
    const proxy = await scene.proxy();
    const urlWith = (password: string): string => proxy.url.replace('://', `://someone:${password}@`);
    const refused = await start({ redis: urlWith('hunter2') });
    const error = await rejectionOf(refused.locks.acquire(scene.key(), { waitTime: 400 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(inspect(error, { depth: 12 })).toContain('WRONGPASS');
    expect(refused.events('local')).toEqual([]);

    const app = await start({ redis: urlWith('s3cret') });
    await (await app.locks.acquire(scene.key())).release();
    await proxy.refuse();
    proxy.cut();
    await localHold(app);
    await proxy.accept();
    await back(app);
    expectOneChange(app);
    const shown = inspect([error, app.seen, refused.seen, app.log.lines, refused.log.lines], { depth: 12 });
    expect(shown).toContain('local');
    expect(shown).not.toMatch(/s3cret|hunter2/);
    await scene.client.acl('DELUSER', 'someone');
  });
});
