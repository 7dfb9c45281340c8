import { describe, expect, it } from '@jest/globals';
import { backoff, LockUnavailableError } from '../../lib/index.js';
import { rejectionOf, stateOf, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

const retry = { maxAttempts: 4, backoff: backoff.fixed(20) };

describe.each([0, 10, 40])('retry while Redis is unreachable, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('B11: a call whose tries are used up on a dead server fails with LockUnavailableError, long before waitTime ends', async () => {
    const app = await scene.app();
    await scene.server.kill();
    try {
      const failing = rejectionOf(app.locks.acquire(scene.key(), { waitTime: 60_000, retry }));
      const error = await within(5_000, 'the end of the tries', failing);
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect((error as LockUnavailableError).cause).toBeInstanceOf(Error);
      expect(app.events('unavailable')).toHaveLength(1);
    } finally {
      await scene.server.restart();
    }
  });

  it('B11: a call whose waitTime ends on a stopped server fails with LockUnavailableError and leaves nothing behind', async () => {
    const app = await scene.app();
    const key = scene.key();
    scene.server.stop();
    try {
      const failing = rejectionOf(app.locks.acquire(key, { waitTime: 300, retry }));
      expect(await within(2_000, 'the end of the wait', failing)).toBeInstanceOf(LockUnavailableError);
    } finally {
      scene.server.resume();
    }
    await scene.nothingLeft();
    await (
      await app.locks.acquire(key, { waitTime: 5_000, retry: { backoff: backoff.fixed(20) } })
    ).release();
  });

  it('a call gets the lock once the server is back', async () => {
    const app = await scene.app();
    await scene.server.kill();
    const options = { waitTime: 60_000, retry: { backoff: backoff.fixed(20) } };
    const waiting = app.locks.acquire(scene.key(), options);
    try {
      await rejectionOf(app.locks.isLocked(scene.key()));
      expect(await stateOf(waiting)).toBe('pending');
    } finally {
      await scene.server.restart();
    }
    await (await within(20_000, 'the lock', waiting)).release();
    await scene.nothingLeft();
  });

  it('P33: a grant whose reply was lost is released, and does not block the next try', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url });
    const key = scene.key();
    const lost = proxy.loseReply((request) => request.includes(`lock:${key}`));
    const options = { waitTime: 15_000, retry: { backoff: backoff.fixed(20) } };
    const handle = await within(10_000, 'the lock', app.locks.acquire(key, options));
    await lost;
    expect(handle.isHeld).toBe(true);
    await handle.release();
    await scene.nothingLeft();
  });
});
