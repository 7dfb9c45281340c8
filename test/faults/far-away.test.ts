import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError, type LockOptions } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { blockEventLoop, elapse, next, rejectionOf, stateOf, until, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

/** Places of one process in the queue of a key at most. */
const MOST_PLACES = 64;
const READERS = 1_000;
/** How long they wait, ms. */
const PATIENCE = 1_500;

describe('a Redis that is far away', () => {
  const scene = new RedisScene({ inVirtualTime: true });

  describe.each([10, 40])('%d ms there and back', (delay) => {
    it.each(['a signal', 'waitTime'])(
      'readers that give up together by %s ask no more than had a place, and nobody else suffers',
      async (how) => {
        const proxy = await scene.proxy();
        proxy.delay(delay);
        const [far, near] = [await scene.app({ redis: proxy.url }), await scene.app()];
        const [key, other] = [scene.key(), scene.key()];
        const held = await near.locks.acquire(key);
        // The connection for grants is there before, as in a process that has waited once.
        const blocking = await near.locks.acquire(other);
        const warm = far.locks.acquire(other, { waitTime: 20_000 });
        await queuedIn(far, other);
        await blocking.release();
        await (await warm).release();
        await scene.client.config('RESETSTAT');

        const leave = new AbortController();
        const options =
          how === 'waitTime' ? { waitTime: PATIENCE } : { waitTime: 20_000, signal: leave.signal };
        const readers = Array.from({ length: READERS }, () =>
          rejectionOf(far.locks.acquire(key, { mode: 'shared', ...options })),
        );
        await queuedIn(far, key);
        if (how === 'a signal') leave.abort(new Error('enough'));
        // So that the time of all is over when the first one looks.
        else blockEventLoop(PATIENCE);
        await within(20_000, 'all readers', Promise.all(readers));
        const later = rejectionOf(far.locks.acquire(key, { mode: 'shared', waitTime: 1_500 }));
        expect(await later).toBeInstanceOf(LockTimeoutError);
        await until('nobody waits any more', async () => (await scene.leftovers()).length === 1);
        // Each place is put into the queue once.
        expect((await scene.commandCounts())['zadd']).toBeLessThanOrEqual(MOST_PLACES + 1);
        await held.release();
        await scene.nothingLeft();
      },
    );
  });

  it.each<[string, LockOptions]>([
    ['all of a lock', {}],
    ['a reader', { mode: 'shared' }],
  ])('%s that gives up before the first answer is put into no queue', async (_, options) => {
    const proxy = await scene.proxy();
    proxy.delay(40);
    const [far, near] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const [key, other] = [scene.key(), scene.key()];
    // The connection for grants is there before.
    const blocking = await near.locks.acquire(other);
    const warm = far.locks.acquire(other, { waitTime: 20_000 });
    await queuedIn(far, other);
    await blocking.release();
    await (await warm).release();
    const held = await near.locks.acquire(key);
    await scene.client.config('RESETSTAT');
    const leave = new AbortController();
    const given = rejectionOf(far.locks.acquire(key, { ...options, waitTime: 20_000, signal: leave.signal }));
    await elapse(20);
    leave.abort(new Error('enough'));
    await given;
    await elapse(500);
    expect(await scene.commandCounts()).not.toHaveProperty('zadd');
    await held.release();
    await scene.nothingLeft();
  });

  it.each<[string, LockOptions, LockOptions]>([
    ['all of a lock', {}, {}],
    ['a reader', {}, { mode: 'shared' }],
    ['a share', { limit: 1 }, { limit: 2 }],
  ])(
    'B10: %s that is cancelled before the first subscription is ready delays no caller',
    async (_, holds, asks) => {
      const proxy = await scene.proxy();
      const [far, near] = [await scene.app({ redis: proxy.url }), await scene.app()];
      const [key, other] = [scene.key(), scene.key()];
      const held = await near.locks.acquire(key, asks.limit === undefined ? holds : asks);
      const rest = asks.limit === undefined ? undefined : await near.locks.acquire(key, asks);
      const blocking = await near.locks.acquire(other);
      const known = new Set(proxy.connections);
      const letGo = proxy.hold('replies', (connection) => !known.has(connection));
      await scene.client.config('RESETSTAT');
      const leave = new AbortController();
      const failing = rejectionOf(far.locks.acquire(key, { ...asks, signal: leave.signal }));
      await until('the subscription is under way', () => proxy.connections.length > known.size);
      leave.abort(new Error('enough'));
      expect(await failing).toEqual(new Error('enough'));
      // Somebody who goes on waiting asks behind it.
      const waiting = far.locks.acquire(other, { waitTime: 20_000 });
      const queued = queuedIn(far, other);
      letGo();
      await queued;
      expect((await scene.commandCounts())['zadd']).toBe(1);
      await blocking.release();
      await (await waiting).release();
      await held.release();
      await rest?.release();
      await scene.nothingLeft();
    },
  );

  it('P20: a lock that passed to the next caller of the process is not waited for when the first subscription is there', async () => {
    const near = await scene.app();
    const other = scene.key();
    const blocking = await near.locks.acquire(other);
    // A busy machine may be too slow for a lock to pass inside the process.
    for (let passed = 0, round = 0; passed === 0; round++) {
      expect(round).toBeLessThan(20);
      const proxy = await scene.proxy();
      const far = await scene.app({ redis: proxy.url });
      const key = scene.key();
      const first = await far.locks.acquire(key);
      // So late in the hold that the process also stands in line in Redis.
      await elapse(55);
      const known = new Set(proxy.connections);
      const letGo = proxy.hold('replies', (connection) => !known.has(connection));
      const reserved = next(far.locks.events, (event) => event.type === 'renewed' && event.key === key);
      const waiting = far.locks.acquire(key, { waitTime: 20_000 });
      await reserved;
      await scene.client.config('RESETSTAT');
      await first.release();
      if ((await stateOf(waiting)) === 'fulfilled' && proxy.connections.length > known.size) {
        passed += 1;
        const further = far.locks.acquire(other, { waitTime: 20_000 });
        const queued = queuedIn(far, other);
        letGo();
        await queued;
        expect((await scene.commandCounts())['zadd']).toBe(1);
        await blocking.release();
        await (await further).release();
      } else letGo();
      await (await waiting).release();
    }
    await scene.nothingLeft();
  });

  it.each<[string, LockOptions]>([
    ['a reader', { mode: 'shared' }],
    ['a share', { limit: 3 }],
    ['all of a lock', {}],
  ])(
    'B60: %s that is granted after its caller gave up is released while the application closes',
    async (_, options) => {
      const proxy = await scene.proxy();
      const app = await scene.app({ redis: proxy.url });
      const key = scene.key();
      await app.locks.withLock(scene.key(), options, () => undefined);
      // Its loss tells that the application no longer waits for work to end.
      const held = await app.locks.acquire(scene.key(), { leaseTime: 1_000 });
      const given = next(app.locks.events, ({ type }) => type === 'lost');
      const letGo = proxy.hold('replies');
      const error = await rejectionOf(app.locks.acquire(key, { ...options, waitTime: 20 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      const closed = app.close();
      await given;
      expect(await stateOf(closed)).toBe('pending');
      expect(held.isHeld).toBe(false);
      letGo();
      await closed;
      await scene.nothingLeft();
    },
  );

  it.each<[string, string | string[], LockOptions]>([
    ['a reader', 'one', { mode: 'shared', waitTime: 20 }],
    ['a share', 'one', { limit: 3, waitTime: 20 }],
    ['all of a lock', 'one', { waitTime: 20 }],
    ['a single try', 'one', { waitTime: 0 }],
    ['a try of several', 'one', { waitTime: 20, retry: {} }],
    ['several locks', ['one', 'two'], { waitTime: 0 }],
  ])(
    'B60: %s that Redis grants when no answer comes any more is taken back before the application has closed',
    async (_, key, options) => {
      const proxy = await scene.proxy();
      const app = await scene.app({ redis: proxy.url });
      // Redis knows the scripts.
      await app.locks.withLock(key, options, () => undefined);
      proxy.hold('replies');
      const granted = until('Redis has granted it', async () => (await scene.leftovers()).length > 0);
      const asking = app.locks.acquire(key, options).catch((error: unknown) => error);
      await granted;
      await app.close();
      await scene.nothingLeft();
      await asking;
    },
  );

  it('P20: a permit whose next token does not arrive goes to a waiting process', async () => {
    const proxy = await scene.proxy();
    const [deaf, other] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const key = scene.key();
    const options = { limit: 2, waitTime: 30_000 };
    const first = await deaf.locks.acquire(key, options);
    const kept = await other.locks.acquire(key, options);
    const rival = other.locks.acquire(key, options);
    await queuedIn(other, key);
    const accepted = proxy.connectionsAccepted;
    const letGo = proxy.hold('replies');
    // For whom more tokens are asked for.
    const waiting = deaf.locks.acquire(key, options).catch((error: unknown) => error as Error);
    void first.release();
    const share = await within(20_000, 'the other process', rival);
    // Before anybody came to the conclusion that the connection is broken.
    expect(proxy.connectionsAccepted).toBe(accepted);
    letGo();
    await share.release();
    await kept.release();
    const served = await within(20_000, 'the next caller', waiting);
    expect(served).not.toBeInstanceOf(Error);
    if (!(served instanceof Error)) await served.release();
    await scene.nothingLeft();
  });
});
