import { describe, expect, it } from '@jest/globals';
import { queuedIn } from '../support/lock-app.js';
import { until } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

describe('grants that are pushed late', () => {
  const scene = new RedisScene();

  it('P13: two late grants of one place are both over, also the one that comes while the place asks anew', async () => {
    const proxy = await scene.proxy();
    const [holder, waiter] = [await scene.app(), await scene.app({ redis: proxy.url })];
    const key = scene.key();
    let held = await holder.locks.acquire(key);
    let early = false;
    const waiting = waiter.locks.acquire(key, { leaseTime: 40, waitTime: 15_000 }).then((handle) => {
      early = held.isHeld;
      return handle;
    });
    await queuedIn(waiter, key);
    const letGo = proxy.hold('replies', (connection) => connection.subscribes);
    const [queue] = await scene.client.keys('lock:@:queue:*');
    for (let round = 0; round < 2; round++) {
      // The waiter's place is granted, the message is kept back, and the claim lease runs out.
      await held.release();
      held = await holder.locks.acquire(key);
      // Its next poll queues it again.
      await until('the waiter stands in the queue again', () => scene.client.exists(queue!));
    }
    letGo();
    await until(
      'the late messages have been read',
      async () => early || (await scene.client.exists(queue!)) === 1,
    );
    // What was kept back is read in one go; a grant that is believed in is claimed at once.
    for (let turn = 0; turn < 50; turn++) await scene.client.ping();
    expect(early).toBe(false);
    await held.release();
    await (await waiting).release();
  });
});
