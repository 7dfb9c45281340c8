import { describe, expect, it } from '@jest/globals';
import { LockLostError, type LockEvent, type LockHandle } from '../../lib/index.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { elapse, next, until, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

/** Renewals are 20 s apart, so that a loss detected earlier was detected by the reconnect. */
const rarely = { watchdogTimeout: 60_000 };
/** The promise is one second; the rest is for the reconnect, on a busy machine. */
const SOON = 8_000;
const LONG = 60_000;

describe.each([0, 40])('holds after the connection to Redis was lost, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  const lossOf = (app: LockApp, handle: LockHandle): Promise<LockEvent> =>
    next(app.locks.events, (event) => event.type === 'lost' && event.key === handle.key, SOON);

  /** Holds of each kind. */
  const holdsOf = (app: LockApp): Promise<LockHandle[]> =>
    Promise.all([
      app.locks.acquire(scene.key()),
      app.locks.acquire(scene.key(), { leaseTime: LONG }),
      app.locks.acquire(scene.key(), { mode: 'shared' }),
      app.locks.acquire(scene.key(), { limit: 3 }),
      app.locks.acquire(scene.key(), { limit: 3, leaseTime: LONG }),
      app.locks.acquire([scene.key(), scene.key()], { leaseTime: LONG }),
    ]);

  /** Opens the subscription of the application. */
  const wait = async (app: LockApp): Promise<void> => {
    const [other, key] = [await scene.app(), scene.key()];
    const handle = await other.locks.acquire(key);
    const waiting = app.locks.acquire(key);
    await queuedIn(app, key);
    await handle.release();
    await (await waiting).release();
  };

  const cutAll = async (proxy: TcpProxy): Promise<void> => {
    const { connectionsAccepted } = proxy;
    const count = proxy.cut();
    await until('all are back', () => proxy.connectionsAccepted >= connectionsAccepted + count);
  };

  it('F1: holds of every kind that a restarted Redis no longer has are lost as soon as Redis is back', async () => {
    const app = await scene.app(rarely);
    const handles = await holdsOf(app);
    const lost = handles.flatMap(({ keys }) =>
      keys.map((key) => next(app.locks.events, (event) => event.type === 'lost' && event.key === key, SOON)),
    );
    await scene.server.restart();
    await Promise.all(lost);
    for (const handle of handles) {
      expect(handle.isHeld).toBe(false);
      expect(handle.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    }
  });

  it('B20, B22: a hold that Redis still has is confirmed, and one with a leaseTime is not extended', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ ...rarely, redis: proxy.url });
    const [watched, fixed] = [
      await app.locks.acquire(scene.key()),
      await app.locks.acquire(scene.key(), { leaseTime: LONG }),
    ];
    const before = fixed.remaining;
    const confirmed = Promise.all(
      [watched, fixed].map(({ key }) =>
        next(app.locks.events, (event) => event.type === 'renewed' && event.key === key, SOON),
      ),
    );
    await cutAll(proxy);
    await confirmed;
    expect([watched.isHeld, fixed.isHeld]).toEqual([true, true]);
    expect(fixed.remaining).toBeLessThanOrEqual(before);
    expect(await scene.client.pttl(`lock:${fixed.key}`)).toBeLessThanOrEqual(LONG);
    expect(app.events('lost')).toEqual([]);
    await Promise.all([watched.release(), fixed.release()]);
    await scene.nothingLeft();
  });

  it('B21: all holds are verified in batches, and only once when the subscription reconnects, too', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ ...rarely, redis: proxy.url });
    // Load the script that verifies holds.
    const known = await app.locks.acquire(scene.key());
    await known.extend(70_000);
    await known.release();
    await wait(app);
    const keys = Array.from({ length: 1_200 }, () => scene.key());
    const handles = await Promise.all(keys.map((key) => app.locks.acquire(key)));
    const channels = (await scene.client.pubsub('CHANNELS', 'lock:@:grants:*')) as string[];
    const open = new Set(keys);
    const confirmed = next(app.locks.events, (event) => {
      if (event.type === 'renewed') open.delete(event.key);
      return open.size === 0;
    });
    await scene.client.config('RESETSTAT');
    await cutAll(proxy);
    await confirmed;
    await until('it listens again', async () => {
      const now = (await scene.client.pubsub('CHANNELS', 'lock:@:grants:*')) as string[];
      return channels.every((channel) => now.includes(channel));
    });
    await elapse(100);
    const { evalsha = 0, eval: byText = 0 } = await scene.commandCounts();
    expect(evalsha + byText).toBe(3);
    await Promise.all(handles.map((handle) => handle.release()));
    await scene.nothingLeft();
  });

  it('P34: a verification whose reply is lost is repeated, and moves no deadline', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ ...rarely, redis: proxy.url });
    const [watched, fixed] = [
      await app.locks.acquire(scene.key()),
      await app.locks.acquire(scene.key(), { leaseTime: LONG }),
    ];
    const before = [watched.remaining, fixed.remaining];
    const failed = next(app.locks.events, (event) => event.type === 'renewal-failed', SOON);
    const question = proxy.loseReply((request) => request.includes(`lock:${fixed.key}`));
    proxy.cut();
    await within(SOON, 'the question', question);
    // Redis is unreachable meanwhile.
    await proxy.refuse();
    await failed;
    expect([watched.isHeld, fixed.isHeld]).toEqual([true, true]);
    [watched, fixed].forEach(({ remaining }, index) =>
      expect(remaining).toBeLessThanOrEqual(before[index] ?? 0),
    );
    const lost = [watched, fixed].map((handle) => lossOf(app, handle));
    await scene.client.flushall();
    await proxy.accept();
    await Promise.all(lost);
    expect(() => fixed.assertHeld()).toThrow(LockLostError);
  });

  it('B23: an expired leaseTime is reported as expired, even if the store was unreachable meanwhile', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    const handle = await app.locks.acquire(scene.key(), { leaseTime: 2_000 });
    const restore = proxy.swallow('requests');
    const back = next(app.locks.events, (event) => event.type === 'lost', SOON);
    proxy.cut();
    await back;
    expect(handle.signal.reason).toMatchObject({ reason: 'expired' });
    restore();
  });

  it('B65: holds in a store that was replaced by local locks are verified when it is back', async () => {
    const app = await scene.app({ ...rarely, onUnavailable: 'local' });
    const handle = await app.locks.acquire(scene.key(), { leaseTime: LONG });
    const lost = lossOf(app, handle);
    await scene.server.kill();
    await within(
      SOON,
      'an outage',
      app.locks.withLock(scene.key(), (lock) => expect(lock.local).toBe(true)),
    );
    await scene.server.restart();
    await lost;
  });
});
