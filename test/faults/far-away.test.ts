import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, type LockOptions } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { blockEventLoop, elapse, rejectionOf, until, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

/** The maximum number of queue positions that a process has for one key. */
const MOST_POSITIONS = 64;
const READERS = 1_000;
/** How long the readers wait, ms. */
const PATIENCE = 1_500;

describe('a distant Redis', () => {
  const scene = new RedisScene({ inVirtualTime: true });

  describe.each([10, 40])('%d ms there and back', (delay) => {
    it.each(['a signal', 'waitTime'])(
      'readers that give up together by %s send at most one queue request for each position, and other callers are unaffected',
      async (how) => {
        const proxy = await scene.proxy();
        proxy.delay(delay);
        const [far, near] = [await scene.app({ redis: proxy.url }), await scene.app()];
        const [key, other] = [scene.key(), scene.key()];
        const held = await near.locks.acquire(key);
        // The connection for grants is already open, as in a process that has waited once.
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
        // The waitTime of all readers has ended when the first timer fires.
        else blockEventLoop(PATIENCE);
        await within(20_000, 'all readers', Promise.all(readers));
        const later = rejectionOf(far.locks.acquire(key, { mode: 'shared', waitTime: 1_500 }));
        expect(await later).toBeInstanceOf(LockTimeoutError);
        await until('no caller waits any more', async () => (await scene.leftovers()).length === 1);
        // Each position is queued once.
        expect((await scene.commandCounts())['zadd']).toBeLessThanOrEqual(MOST_POSITIONS + 1);
        await held.release();
        await scene.nothingLeft();
      },
    );
  });

  it.each<[string, LockOptions]>([
    ['the exclusive lock', {}],
    ['a reader', { mode: 'shared' }],
  ])('%s that gives up before the first reply is not queued', async (_, options) => {
    const proxy = await scene.proxy();
    proxy.delay(40);
    const [far, near] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const key = scene.key();
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

  it.each<[string, string | string[], LockOptions]>([
    ['a reader', 'one', { mode: 'shared', waitTime: 20 }],
    ['a permit', 'one', { limit: 3, waitTime: 20 }],
    ['the exclusive lock', 'one', { waitTime: 20 }],
    ['a single try', 'one', { waitTime: 0 }],
    ['one try of a retrying call', 'one', { waitTime: 20, retry: {} }],
    ['several locks', ['one', 'two'], { waitTime: 0 }],
  ])(
    'B60: %s that Redis grants while replies are lost is released before the application has closed',
    async (_, key, options) => {
      const proxy = await scene.proxy();
      const app = await scene.app({ redis: proxy.url });
      // Load the scripts.
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

  it('P20: a permit goes to a waiting process when its next token does not arrive', async () => {
    const proxy = await scene.proxy();
    const [deaf, other] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const key = scene.key();
    const options = { limit: 2, waitTime: 30_000 };
    const first = await deaf.locks.acquire(key, options);
    const kept = await other.locks.acquire(key, options);
    const rival = other.locks.acquire(key, options);
    await queuedIn(other, key);
    const accepted = proxy.connectionsAccepted;
    const deliver = proxy.hold('replies');
    // The caller for whom the process requests more tokens.
    const waiting = deaf.locks.acquire(key, options).catch((error: unknown) => error as Error);
    void first.release();
    const permit = await within(20_000, 'the other process', rival);
    // Before the process considers the connection broken.
    expect(proxy.connectionsAccepted).toBe(accepted);
    deliver();
    await permit.release();
    await kept.release();
    const served = await within(20_000, 'the next caller', waiting);
    expect(served).not.toBeInstanceOf(Error);
    if (!(served instanceof Error)) await served.release();
    await scene.nothingLeft();
  });
});
