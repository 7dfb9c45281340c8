import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError, type LockOptions } from '../../lib/index.js';
import { type LockApp, queuedIn } from '../support/lock-app.js';
import { elapse, rejectionOf } from '../support/until.js';
import { VirtualTime } from '../support/virtual-time.js';
import { RedisScene } from './redis-scene.js';

/** How a caller requests a lock, and how other callers hold it. */
const kinds: readonly { what: string; holds: LockOptions; asks: LockOptions }[] = [
  { what: 'the exclusive lock', holds: {}, asks: {} },
  { what: 'the exclusive lock, with a label', holds: {}, asks: { label: 'report' } },
  { what: 'the exclusive lock, fair', holds: {}, asks: { fair: true } },
  { what: 'the exclusive lock, beside readers', holds: { mode: 'shared' }, asks: {} },
  { what: 'a reader, beside a writer', holds: {}, asks: { mode: 'shared' } },
  { what: 'the only permit, which is held', holds: { limit: 1 }, asks: { limit: 1 } },
  { what: 'one of several permits, which are all held', holds: { limit: 2 }, asks: { limit: 2 } },
];

/** The round trip of a request, ms: one fits into `waitTime`, two do not. */
const SLOW = 400;
const waitTime = 600;

/** In virtual time: no reply is late because the machine is busy. */
describe('B11: a lock that Redis says is held is not reported as an unreachable store', () => {
  const scene = new RedisScene({ clock: true });
  let stopTime: (() => void) | undefined;
  beforeEach(async () => {
    stopTime = await VirtualTime.start([scene.server]);
  });
  afterEach(() => stopTime?.());

  /** Holds all permits of the key. */
  const occupy = async (key: string, holds: LockOptions): Promise<LockApp> => {
    const holder = await scene.app();
    for (let permit = 0; permit < (holds.limit ?? 1); permit++) await holder.locks.acquire(key, holds);
    return holder;
  };

  it.each(kinds)('when two requests take longer than waitTime: $what', async ({ holds, asks }) => {
    const proxy = await scene.proxy();
    const key = scene.key();
    await occupy(key, holds);
    const app = await scene.app({ redis: proxy.url });
    proxy.delay(SLOW);
    expect(await app.locks.tryAcquire(key, { ...asks, waitTime })).toBeNull();
    expect(app.events('unavailable')).toEqual([]);
  });

  /** Locks that would be granted if other callers had not come first. */
  const queues: readonly { what: string; asks: LockOptions; prepare: (key: string) => Promise<void> }[] = [
    {
      what: 'a reader, behind a waiting writer',
      asks: { mode: 'shared' },
      prepare: async (key) => {
        await occupy(key, { mode: 'shared' });
        await wait(key, {});
      },
    },
    { what: 'the exclusive lock, free with a queue', asks: {}, prepare: (key) => leaveQueue(key, {}) },
    {
      what: 'a reader, of a free lock with a queue',
      asks: { mode: 'shared' },
      prepare: (key) => leaveQueue(key, {}),
    },
  ];

  /** Starts a caller that keeps waiting. */
  const wait = async (key: string, asks: LockOptions): Promise<void> => {
    const app = await scene.app();
    const queued = queuedIn(app, key);
    app.locks.acquire(key, { ...asks, waitTime: 60_000 }).catch(() => undefined);
    await queued;
  };

  /** Leaves waiters in the queue of a free lock; they do not notice that it is free. */
  const leaveQueue = async (key: string, asks: LockOptions): Promise<void> => {
    const holder = await occupy(key, asks);
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    const queued = queuedIn(app, key);
    app.locks.acquire(key, { ...asks, waitTime: 60_000 }).catch(() => undefined);
    await queued;
    proxy.hold('requests');
    const helpers = await scene.client.keys(`lock:@:*{lock:${key}}*`);
    expect(helpers.length).toBeGreaterThan(0);
    await Promise.all(helpers.map((helper) => scene.client.persist(helper)));
    await scene.client.del(`lock:${key}`);
    expect(holder).toBeDefined();
  };

  it.each(queues)(
    'when other callers came first and two requests take longer than waitTime: $what',
    async ({ asks, prepare }) => {
      const proxy = await scene.proxy();
      const key = scene.key();
      await prepare(key);
      const app = await scene.app({ redis: proxy.url });
      proxy.delay(SLOW);
      const error = await rejectionOf(app.locks.acquire(key, { ...asks, waitTime }));
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(app.events('unavailable')).toEqual([]);
    },
  );

  it.each([
    { what: 'a reader, after a writer', holds: [{}], asks: { mode: 'shared' } },
    { what: 'a writer, after a reader', holds: [{ mode: 'shared' }], asks: {} },
    { what: 'two permits, after one', holds: [{ limit: 2 }, { limit: 2 }], asks: { limit: 2, permits: 2 } },
    {
      what: 'a caller in strict order, after a hold with leaseTime',
      holds: [{ leaseTime: 60_000 }],
      asks: {},
    },
  ] as const)(
    'when its own process held it during a wait that is shorter than a round trip: $what',
    async ({ holds, asks }) => {
      const proxy = await scene.proxy();
      const key = scene.key();
      const app = await scene.app({ redis: proxy.url });
      const held = await Promise.all(holds.map((options) => app.locks.acquire(key, options)));
      await elapse(400);
      proxy.delay(60);
      const waiting = rejectionOf(app.locks.acquire(key, { ...asks, waitTime: 50 }));
      await elapse(40);
      await Promise.all(held.map((handle) => handle.release()));
      expect(await waiting).toBeInstanceOf(LockTimeoutError);
    },
  );

  it.each([
    { what: 'the exclusive lock', holds: {} },
    { what: 'a permit, without a ticket of its own', holds: { limit: 2 } },
  ])(
    'is reported as one if Redis does not reply for the whole wait of a later caller: $what',
    async ({ holds }) => {
      const proxy = await scene.proxy();
      const key = scene.key();
      await occupy(key, holds);
      const app = await scene.app({ redis: proxy.url });
      const earlier = Array.from({ length: 3 }, () => {
        const queued = queuedIn(app, key);
        return {
          queued,
          waiting: app.locks.acquire(key, { ...holds, waitTime: 60_000 }).catch(() => undefined),
        };
      });
      await Promise.all(earlier.map(({ queued }) => queued));
      await elapse(100);
      const deliver = proxy.hold('replies');
      const failing = rejectionOf(app.locks.acquire(key, { ...holds, waitTime: 1_600 }));
      expect(await failing).toBeInstanceOf(LockUnavailableError);
      deliver();
    },
  );

  it('is reported as one by a call that begins after all connections have closed', async () => {
    const proxy = await scene.proxy();
    const key = scene.key();
    await occupy(key, {});
    const app = await scene.app({ redis: proxy.url });
    const queued = queuedIn(app, key);
    app.locks.acquire(key, { waitTime: 60_000 }).catch(() => undefined);
    await queued;
    await elapse(300);
    await proxy.refuse();
    proxy.cut();
    await elapse(50);
    expect(await rejectionOf(app.locks.acquire(key, { waitTime: 500 }))).toBeInstanceOf(LockUnavailableError);
  });
});
