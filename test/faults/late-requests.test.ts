import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { LockStore } from '../../lib/stores/port/index.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { redissonStore } from '../../lib/stores/redisson/index.js';
import { PortClient } from '../contract/port-client.js';
import { queuedIn } from '../support/lock-app.js';
import { RedisServer } from '../support/redis-server.js';
import { next, rejectionOf, until, within } from '../support/until.js';
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

describe('a cancellation of an unconfirmed grant that arrives late', () => {
  const scene = new RedisScene({ settings: { 'repl-diskless-sync-delay': '0' } });
  const replicas = { min: 1, timeout: 250 };
  const stores: Record<string, (redis: string) => LockStore> = {
    redis: (redis) => new RedisLockStore(redis, '', replicas),
    redisson: (redis) => redissonStore({ redis, replicas }),
  };

  it.each(Object.keys(stores))('P30, P32: ends no later grant (%s)', async (name) => {
    const [replica, proxy] = [await RedisServer.start(), await scene.proxy()];
    scene.until({ kill: () => replica.close() });
    const client = await PortClient.open(stores[name]!(proxy.url));
    scene.until({ kill: () => client.close() });
    const key = scene.key();
    const owner = client.newOwner();
    const requests: string[] = [];
    const lost = proxy.loseRequest((text) => text.includes(key) && requests.push(text) === 2);
    // Too few replicas: the grant is cancelled.
    expect(await rejectionOf(client.acquire(key, owner))).toMatchObject({ inDoubt: true });
    await lost;
    await replica.client().replicaof(scene.server.host, scene.server.port);
    await until('the replica is there', async () => (await scene.client.wait(1, 50)) === 1);
    await until('it is connected', () =>
      client.lockOf(key).then(
        () => true,
        () => false,
      ),
    );
    expect(await client.acquire(key, owner)).toEqual({ outcome: 'cancelled' });
    // As the engine does.
    await client.cancel(key, owner, true);
    let other = client.newOwner();
    // On a busy machine the replica may be late once.
    const take = (): Promise<number> => client.take(key, (other = client.newOwner()));
    await until('another owner has it', () => take().catch(() => undefined));
    await deliver(scene.server.port, requests[1]!);
    expect(await client.release(key, other)).toBe('released');
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
