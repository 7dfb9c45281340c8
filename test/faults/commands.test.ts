import { describe, expect, it } from '@jest/globals';
import { elapse } from '../support/until.js';
import { RedisScene, scripts } from './redis-scene.js';

describe('load on the server', () => {
  const scene = new RedisScene({ inVirtualTime: true });

  it('P1: a lock is one hash at its name with all data of its hold, and is deleted with it', async () => {
    const app = await scene.app();
    const key = scene.key();
    const handle = await app.locks.acquire(key, { label: 'import', leaseTime: 5_000 });
    const { token, label, ...rest } = await scene.client.hgetall(`lock:${key}`);
    expect({ token, label }).toEqual({ token: String(handle.token), label: 'import' });
    const owner = (await app.admin.inspect(key))?.owner ?? '';
    expect(rest).toMatchObject({ [owner]: '1' });
    expect(await scene.client.pttl(`lock:${key}`)).toBeGreaterThan(4_000);
    await handle.release();
    expect(await scene.client.exists(`lock:${key}`)).toBe(0);
    await scene.nothingLeft();
  });

  it('P7: a free lock takes one script to acquire and one to release, without pub/sub', async () => {
    const app = await scene.app();
    await app.locks.withLock(scene.key(), () => undefined);
    await scene.client.config('RESETSTAT');
    for (let round = 0; round < 20; round++) await app.locks.withLock(scene.key(), () => undefined);
    const counts = await scene.commandCounts();
    expect(scripts(counts)).toBe(40);
    for (const name of ['publish', 'subscribe', 'ssubscribe', 'psubscribe', 'multi', 'eval']) {
      expect(counts[name] ?? 0).toBe(0);
    }
    await scene.nothingLeft();
  });

  it('B12: several free locks take less than one script each to acquire and to release', async () => {
    const app = await scene.app();
    const keys = (): string[] => [scene.key(), scene.key(), scene.key(), scene.key()];
    await app.locks.withLock(keys(), () => undefined);
    // The second script of the release may still be on its way.
    await scene.nothingLeft();
    await scene.client.config('RESETSTAT');
    const locks = await Promise.all(Array.from({ length: 10 }, () => app.locks.acquire(keys())));
    expect(scripts(await scene.commandCounts())).toBeLessThanOrEqual(10);
    for (const lock of locks) await lock.release();
    expect(scripts(await scene.commandCounts())).toBeLessThanOrEqual(30);
    await scene.nothingLeft();
  });

  it('B21: renewals travel in batches', async () => {
    const app = await scene.app({ watchdogTimeout: 1_500 });
    const key = scene.key();
    const handles = await Promise.all(
      Array.from({ length: 200 }, (_, index) => app.locks.acquire(`${key}-${index}`)),
    );
    await scene.client.config('RESETSTAT');
    await elapse(1_600);
    expect(scripts(await scene.commandCounts())).toBeLessThan(60);
    expect(handles.every((handle) => handle.isHeld)).toBe(true);
    await Promise.all(handles.map((handle) => handle.release()));
  });
});
