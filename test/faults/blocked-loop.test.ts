import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from '@jest/globals';
import { blockEventLoop, elapse } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

describe('F22: an event loop that was blocked while a request was under way', () => {
  const scene = new RedisScene();

  const cases = [
    { watchdogTimeout: 30_000, blocked: 2_200 },
    { watchdogTimeout: 3_000, blocked: 600 },
  ];
  const connections = async (): Promise<string | undefined> =>
    /total_connections_received:(\d+)/.exec(await scene.client.info('stats'))?.[1];

  it.each(cases)(
    'a reply that has arrived is read before the request times out ($blocked ms)',
    async (each) => {
      const { watchdogTimeout, blocked } = each;
      const app = await scene.app({ watchdogTimeout });
      const before = await connections();
      const trying = app.locks.tryAcquire(scene.key());
      await Promise.resolve();
      blockEventLoop(blocked);
      const handle = await trying;
      expect(handle?.isHeld).toBe(true);
      await handle?.release();
      expect(app.events('unavailable')).toEqual([]);
      expect(await connections()).toBe(before);
      await scene.nothingLeft();
    },
  );

  it.each(cases)('a reply that is still under way is waited for ($blocked ms)', async (each) => {
    const { watchdogTimeout, blocked } = each;
    // The proxy runs in this event loop, so it is blocked as well.
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url, watchdogTimeout });
    const before = proxy.connectionsAccepted;
    const trying = app.locks.tryAcquire(scene.key());
    await Promise.resolve();
    blockEventLoop(blocked);
    const handle = await trying;
    expect(handle?.isHeld).toBe(true);
    await handle?.release();
    expect(app.events('unavailable')).toEqual([]);
    expect(proxy.connectionsAccepted).toBe(before);
    await scene.nothingLeft();
  });

  it('an acquire is tried again when its lease has expired meanwhile', async () => {
    const app = await scene.app();
    const key = scene.key();
    const trying = app.locks.tryAcquire(key, { leaseTime: 1_500 });
    await Promise.resolve();
    blockEventLoop(2_000);
    const handle = await trying;
    expect(handle?.isHeld).toBe(true);
    expect(await handle?.release()).toBe('released');
    await scene.nothingLeft();
  });

  it('a connection without a reply is closed even if the event loop blocks repeatedly', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url, watchdogTimeout: 1_200 });
    const restore = proxy.swallow('replies');
    const before = proxy.connectionsAccepted;
    const trying = app.locks.tryAcquire(scene.key()).catch((error: unknown) => error);
    await Promise.resolve();
    // Longer than the command timeout, so that every timer is late.
    for (let blocked = 0; blocked < 10 && proxy.connectionsAccepted === before; blocked++) {
      blockEventLoop(300);
      await elapse(1);
    }
    expect(proxy.connectionsAccepted).toBeGreaterThan(before);
    expect(await trying).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    restore();
    await elapse(0);
    await scene.nothingLeft();
  });
});

describe('F22: an event loop that is blocked while a connection is being made', () => {
  const scene = new RedisScene();
  const CONNECT_TIMEOUT = 300;

  /** Blocks the event loop after the next connection attempt has started and before its result is read. */
  const blockWhileConnecting = (): Promise<void> =>
    new Promise((resolve) => {
      const asked = (): void => {
        unsubscribe('net.client.socket', asked);
        void (async () => {
          // The code that connects and sets the timeout runs first.
          for (let tick = 0; tick < 20; tick++) await new Promise<void>((next) => process.nextTick(next));
          blockEventLoop(2 * CONNECT_TIMEOUT);
          resolve();
        })();
      };
      subscribe('net.client.socket', asked);
    });

  it('at the start, the next attempt connects', async () => {
    const blocked = blockWhileConnecting();
    const { host, port } = scene.server;
    const app = await scene.app({ redis: { host, port, connectTimeout: CONNECT_TIMEOUT } });
    await blocked;
    const handle = await app.locks.acquire(scene.key());
    expect(handle.isHeld).toBe(true);
    await handle.release();
  });

  it('a reconnect needs at most one attempt more', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({
      redis: { host: '127.0.0.1', port: proxy.port, connectTimeout: CONNECT_TIMEOUT },
    });
    await app.locks.withLock(scene.key(), () => undefined);
    const before = proxy.connectionsAccepted;
    const blocked = blockWhileConnecting();
    proxy.cut();
    await blocked;
    await app.locks.withLock(scene.key(), () => undefined);
    expect(proxy.connectionsAccepted).toBeLessThanOrEqual(before + 2);
    await scene.nothingLeft();
  });
});
