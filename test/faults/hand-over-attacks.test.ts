import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from '../../lib/index.js';
import { blockEventLoop, next, rejectionOf, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

describe.each([0, 10])('faults of hand-over and batched requests, %d ms away', (delay) => {
  const scene = new RedisScene({ delay, inVirtualTime: true });

  it('B22: a foreign value at the name of one lock does not prevent the renewal of other locks', async () => {
    // The other locks must survive a machine that is busy for seconds.
    const app = await scene.app({ watchdogTimeout: 6_000 });
    const key = scene.key();
    const handles = await Promise.all(
      Array.from({ length: 20 }, (_, index) => app.locks.acquire(`${key}-${index}`)),
    );
    const failures: string[] = [];
    app.locks.events.subscribe(({ type }) => void (type === 'renewal-failed' && failures.push(type)));
    const lost = next(app.locks.events, (event) => event.type === 'lost', 20_000);
    await scene.client.set(`lock:${key}-5`, 'something else');
    expect(await within(20_000, 'the loss', lost)).toMatchObject({ key: `${key}-5`, reason: 'taken' });
    expect(handles.filter((handle) => !handle.isHeld)).toEqual([handles[5]]);
    expect(failures).toEqual([]);
    await scene.client.del(`lock:${key}-5`);
    await Promise.all(handles.map((handle) => handle.release()));
    await scene.nothingLeft();
  });

  it('B11: a held lock is a timeout also for callers that waited while the event loop was blocked', async () => {
    const [holder, app] = [await scene.app(), await scene.app()];
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    // The very first wait also opens the subscription, which takes time.
    expect(await rejectionOf(app.locks.acquire(key, { waitTime: 500 }))).toBeInstanceOf(LockTimeoutError);
    for (let round = 0; round < 5; round++) {
      const failing = [0, 1, 2].map(() => rejectionOf(app.locks.acquire(key, { waitTime: 20 })));
      blockEventLoop(60);
      for (const error of await Promise.all(failing)) expect(error).toBeInstanceOf(LockTimeoutError);
    }
    await handle.release();
    await scene.nothingLeft();
  });

  it('F7: a new grant to the same process ends a hold that the store no longer has', async () => {
    const app = await scene.app();
    const key = scene.key();
    const forgotten = await app.locks.acquire(key);
    await scene.client.del(`lock:${key}`);
    const fresh = await within(2_000, 'the new hold', app.locks.acquire(key, { fair: true }));
    expect([forgotten.isHeld, fresh.isHeld]).toEqual([false, true]);
    expect(fresh.token).toBeGreaterThan(forgotten.token);
    expect(await forgotten.release()).toBe('expired');
    expect(fresh.isHeld).toBe(true);
    await fresh.release();
    await scene.nothingLeft();
  });

  it('B20: an extended lease ends with its hold, even if the extension is still under way', async () => {
    const app = await scene.app({ watchdogTimeout: 2_000 });
    const key = scene.key();
    const handle = await app.locks.acquire(key);
    const reserved = next(app.locks.events, (event) => event.type === 'renewed');
    const waiting = app.locks.acquire(key);
    await reserved;
    const extended = handle.extend(600_000).catch(() => undefined);
    await handle.release();
    const inherited = await waiting;
    await extended;
    expect(await scene.client.pttl(`lock:${key}`)).toBeLessThanOrEqual(2_000);
    await inherited.release();
    await scene.nothingLeft();
  });
});
