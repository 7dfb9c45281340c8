import { describe, expect, it } from '@jest/globals';
import { queuedIn } from '../support/lock-app.js';
import { until } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

describe.each([0, 10, 40])('pushed grants that arrive late, %d ms away', (delay) => {
  const scene = new RedisScene({ delay, inVirtualTime: true });

  it('P13: two late grants of one ticket are both rejected, even one that arrives while the ticket polls', async () => {
    const proxy = await scene.proxy();
    const [holder, waiter] = [await scene.app(), await scene.app({ redis: proxy.url })];
    const key = scene.key();
    let held = await holder.locks.acquire(key);
    // Longer than a request takes on a busy machine, and over before the waiter's next poll.
    const leaseTime = 300 + 3 * delay;
    let early = false;
    const waiting = waiter.locks.acquire(key, { leaseTime, waitTime: 15_000 }).then((handle) => {
      early = held.isHeld;
      return handle;
    });
    await queuedIn(waiter, key);
    const deliver = proxy.hold('replies', (connection) => connection.subscribes);
    const [queue] = await scene.client.keys('lock:@:queue:*');
    for (let round = 0; round < 2; round++) {
      // The ticket is granted, the message is held back, and the claim lease expires.
      await held.release();
      held = await holder.locks.acquire(key);
      // Its next poll queues it again.
      await until('the waiter stands in the queue again', () => scene.client.exists(queue!));
    }
    deliver();
    await until(
      'the late messages have been read',
      async () => early || (await scene.client.exists(queue!)) === 1,
    );
    // The held-back messages are read at once; an accepted grant would be claimed immediately.
    for (let turn = 0; turn < 50; turn++) await scene.client.ping();
    expect(early).toBe(false);
    await held.release();
    await (await waiting).release();
  });

  it('P13, P32: a late grant is rejected if a lost request may have shortened its lease', async () => {
    const proxy = await scene.proxy();
    const [holder, waiter] = [await scene.app(), await scene.app({ redis: proxy.url })];
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const gone = [new AbortController(), new AbortController()];
    const waits = [1_900, 200, undefined].map((leaseTime, index) =>
      waiter.locks.acquire(key, { leaseTime, waitTime: 15_000, signal: gone[index]?.signal }),
    );
    for (const wait of waits) wait.catch(() => undefined);
    await queuedIn(waiter, key);
    const [queue] = await scene.client.keys('lock:@:queue:*');
    await until('the first caller is queued', () => scene.client.exists(queue!));

    // Granted with a claim lease of 1 900 ms; the message is held back.
    const deliver = proxy.hold('replies', (connection) => connection.subscribes);
    await held.release();
    expect(await scene.client.hget(`lock:${key}`, 'unclaimed')).toBe('1');
    // The next caller's request for 200 ms is carried out, but its reply is lost; then this caller gives up, too.
    const lost = proxy.loseReply((request) => request.includes(key));
    gone[0]?.abort('enough');
    await lost;
    await proxy.refuse();
    proxy.cut((connection) => !connection.subscribes);
    gone[1]?.abort('enough');
    const second = await holder.locks.acquire(key, { waitTime: 1_500 });

    let early = false;
    const third = waits[2]?.then((handle) => {
      early = second.isHeld;
      return handle;
    });
    deliver();
    // The held-back messages are read at once; an accepted grant would be effective immediately.
    for (let turn = 0; turn < 50; turn++) await scene.client.ping();
    expect(early).toBe(false);
    await proxy.accept();
    await second.release();
    const handle = await third;
    expect(handle?.token).toBeGreaterThan(second.token);
    await handle?.release();
    expect(early).toBe(false);
    await scene.nothingLeft();
  });
});
