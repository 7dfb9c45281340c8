import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError, type LockOptions } from '../../lib/index.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { elapse, rejectionOf, within } from '../support/until.js';
import { VirtualTime } from '../support/virtual-time.js';
import { RedisScene } from './redis-scene.js';

/** How a caller asks for a lock that others hold, and how they hold it. */
const kinds: readonly { what: string; holds: LockOptions; asks: LockOptions }[] = [
  { what: 'the whole lock', holds: {}, asks: {} },
  { what: 'the whole lock, with a label', holds: {}, asks: { label: 'report' } },
  { what: 'the whole lock, in order', holds: {}, asks: { fair: true } },
  { what: 'the whole lock, beside readers', holds: { mode: 'shared' }, asks: {} },
  { what: 'a reader, beside a writer', holds: {}, asks: { mode: 'shared' } },
  { what: 'a share, of which none is left', holds: { limit: 1 }, asks: { limit: 1 } },
  { what: 'a share of several, of which none is left', holds: { limit: 2 }, asks: { limit: 2 } },
];

/** Who tries again and again stands in no line. */
const unordered = kinds.filter(({ asks }) => asks.fair !== true);

/** What a request takes there and back, ms: one is over before `waitTime` by far, two are not. */
const SLOW = 400;
const waitTime = 600;
const options = { shutdownTimeout: 50 };

/** In time that passes only while nobody has anything to do: no answer is late because the machine is busy. */
describe('B11: a lock that Redis says is held is not reported as an unreachable store', () => {
  const scene = new RedisScene({ clock: true });
  let stopTime: (() => void) | undefined;
  beforeEach(async () => {
    stopTime = await VirtualTime.start([scene.server]);
  });
  afterEach(() => stopTime?.());

  /** All shares of the key. */
  const occupy = async (key: string, holds: LockOptions): Promise<LockApp> => {
    const holder = await scene.app();
    for (let share = 0; share < (holds.limit ?? 1); share++) await holder.locks.acquire(key, holds);
    return holder;
  };

  it.each(kinds)(
    'when the subscription that the first wait opens is slow: $what',
    async ({ holds, asks }) => {
      const proxy = await scene.proxy();
      const key = scene.key();
      await occupy(key, holds);
      const app = await scene.app({ redis: proxy.url });
      const known = new Set(proxy.connections);
      const letGo = proxy.hold('replies', (connection) => !known.has(connection));
      const error = await rejectionOf(app.locks.acquire(key, { ...asks, waitTime: 200 }));
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect((error as LockTimeoutError).remaining).toBeGreaterThan(10_000);
      letGo();
    },
  );

  it.each(kinds)(
    'when a further caller comes while that subscription has been slow for a while: $what',
    async ({ holds, asks }) => {
      const proxy = await scene.proxy();
      const key = scene.key();
      await occupy(key, holds);
      const app = await scene.app({ redis: proxy.url });
      const known = new Set(proxy.connections);
      const letGo = proxy.hold('replies', (connection) => !known.has(connection));
      const first = rejectionOf(app.locks.acquire(key, { ...asks, waitTime: 480 }));
      // Longer than the answer to a request may be late, and less than the subscription is waited for.
      await elapse(300);
      const second = rejectionOf(app.locks.acquire(key, { ...asks, waitTime: 100 }));
      expect(await second).toBeInstanceOf(LockTimeoutError);
      expect(await first).toBeInstanceOf(LockTimeoutError);
      letGo();
    },
  );

  it.each(kinds)('when two requests take longer than waitTime: $what', async ({ holds, asks }) => {
    const proxy = await scene.proxy();
    const key = scene.key();
    await occupy(key, holds);
    const app = await scene.app({ redis: proxy.url });
    proxy.delay(SLOW);
    expect(await app.locks.tryAcquire(key, { ...asks, waitTime })).toBeNull();
    expect(app.events('unavailable')).toEqual([]);
  });

  it.each(unordered)(
    'when a second request would take longer than waitTime, for who tries again: $what',
    async ({ holds, asks }) => {
      const proxy = await scene.proxy();
      const key = scene.key();
      await occupy(key, holds);
      const app = await scene.app({ redis: proxy.url });
      proxy.delay(SLOW);
      const error = await rejectionOf(
        app.locks.acquire(key, { ...asks, waitTime, retry: {} } as LockOptions),
      );
      expect(error).toBeInstanceOf(LockTimeoutError);
    },
  );

  /** Locks that are to be had, if others had not come first. */
  const queues: readonly { what: string; asks: LockOptions; prepare: (key: string) => Promise<void> }[] = [
    {
      what: 'a reader, behind a writer that waits',
      asks: { mode: 'shared' },
      prepare: async (key) => {
        await occupy(key, { mode: 'shared' });
        await wait(key, {});
      },
    },
    { what: 'the whole lock, free with a queue', asks: {}, prepare: (key) => leaveQueue(key, {}) },
    {
      what: 'a reader, of a free lock with a queue',
      asks: { mode: 'shared' },
      prepare: (key) => leaveQueue(key, {}),
    },
    {
      what: 'a share, of a free lock with a queue',
      asks: { limit: 2 },
      prepare: (key) => leaveQueue(key, { limit: 2 }),
    },
  ];

  /** A caller that goes on waiting. */
  const wait = async (key: string, asks: LockOptions): Promise<void> => {
    const app = await scene.app();
    const queued = queuedIn(app, key);
    app.locks.acquire(key, { ...asks, waitTime: 60_000 }).catch(() => undefined);
    await queued;
  };

  /** Waiters whose lock is gone, who do not come to see that. */
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

  it.each(queues)(
    'when other callers came first and the second request is too slow for a retrying call: $what',
    async ({ asks, prepare }) => {
      const proxy = await scene.proxy();
      const key = scene.key();
      await prepare(key);
      const app = await scene.app({ redis: proxy.url });
      proxy.delay(SLOW);
      const error = await rejectionOf(
        app.locks.acquire(key, { ...asks, waitTime, retry: {} } as LockOptions),
      );
      expect(error).toBeInstanceOf(LockTimeoutError);
    },
  );

  it('is one, if Redis goes away after it has said so', async () => {
    const proxy = await scene.proxy();
    const key = scene.key();
    await occupy(key, {});
    const app = await scene.app({ redis: proxy.url });
    const queued = queuedIn(app, key);
    const failing = rejectionOf(app.locks.acquire(key, { waitTime: 1_500 }));
    await queued;
    await proxy.refuse();
    proxy.cut();
    expect(await failing).toBeInstanceOf(LockUnavailableError);
  });

  it('nor is a caller lost that goes on waiting', async () => {
    const proxy = await scene.proxy();
    const key = scene.key();
    const holder = await scene.app();
    const held = await holder.locks.acquire(key);
    const app = await scene.app({ redis: proxy.url });
    const known = new Set(proxy.connections);
    const letGo = proxy.hold('replies', (connection) => !known.has(connection));
    const queued = queuedIn(app, key);
    const waiting = app.locks.acquire(key, { waitTime: 20_000 });
    await queued;
    await held.release();
    await (await within(8_000, 'the lock', waiting)).release();
    letGo();
    await scene.nothingLeft();
  });
});

describe('B11: a lock that most servers of a quorum say is held', () => {
  let servers: RedisServer[] = [];
  let proxies: TcpProxy[] = [];
  let stopTime: (() => void) | undefined;
  const apps: LockApp[] = [];

  beforeEach(async () => {
    servers = await RedisServer.startAll(3, { clock: true });
    stopTime = await VirtualTime.start(...servers.map((server) => [server]));
    proxies = await Promise.all(servers.map(({ port }) => TcpProxy.before(port)));
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await Promise.all(proxies.map((proxy) => proxy.close()));
    stopTime?.();
    await Promise.all(servers.map((server) => server.close()));
  });

  const app = async (urls: readonly { readonly url: string }[]): Promise<LockApp> => {
    const started = await LockApp.start({ quorum: urls.map(({ url }) => url), ...options });
    apps.push(started);
    return started;
  };

  it('is held, when the subscriptions that the first wait opens are slow', async () => {
    await (await app(servers)).locks.acquire('key');
    const waiter = await app(proxies);
    const known = new Set(proxies.flatMap(({ connections }) => connections));
    const letGo = proxies.map((proxy) => proxy.hold('replies', (connection) => !known.has(connection)));
    const error = await rejectionOf(waiter.locks.acquire('key', { waitTime: 450 }));
    expect(error).toBeInstanceOf(LockTimeoutError);
    for (const go of letGo) go();
  });
});
