import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { queuedIn } from '../support/lock-app.js';
import { next, within } from '../support/until.js';
import { about, RedisScene } from './redis-scene.js';

describe.each([0, 10])('a request that arrives after its owner has lost the lock, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('P32: acquires nothing once the loss was reported', async () => {
    const proxy = await scene.proxy();
    const [holder, breaker] = [await scene.app(), await scene.app()];
    const app = await scene.app({ redis: proxy.url });
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    let late = '';
    const lost = proxy.loseRequest((request) => {
      if (!about(key)(request)) return false;
      late = request;
      return true;
    });
    const waiting = app.locks.acquire(key, { waitTime: 15_000 });
    await lost;
    await queuedIn(app, key);
    await handle.release();
    const inDoubt = await waiting;
    const reported = next(app.locks.events, (event) => event.type === 'lost' && event.key === key);
    await breaker.admin.forceRelease(key);
    await reported;
    expect(await inDoubt.release()).toBe('expired');
    // This reply comes after all requests that the loss caused.
    expect(await app.locks.isLocked(key)).toBe(false);
    await deliver(scene.server.port, late);
    expect(await scene.client.exists(`lock:${key}`)).toBe(0);
    await scene.nothingLeft();
  });
});

/** Sends bytes as a slow network would deliver them, and waits for the reply. */
async function deliver(port: number, bytes: string): Promise<void> {
  expect(bytes).not.toBe('');
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes, 'latin1');
  await within(2_000, 'an answer', once(socket, 'data'));
  socket.destroy();
}
