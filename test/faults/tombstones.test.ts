import { describe, expect, it } from '@jest/globals';
import type { AcquireRequest, OwnerId } from '../../lib/stores/port/index.js';
import { KeyNames } from '../../lib/stores/redis/scripts/key-names.js';
import { LockCalls } from '../../lib/stores/redis/scripts/scripts.js';
import type { ScriptCall } from '../../lib/stores/redis/scripts/scripts.js';
import { RedisScene } from './redis-scene.js';

describe('tombstones of owners that were given up in doubt', () => {
  const scene = new RedisScene({ inVirtualTime: true });
  const names = new KeyNames('lock:');
  const calls = new LockCalls(names, 'a');
  const gone = names.tombstones(0, 'a');

  const run = async <T>({ text, keyCount, args, decode }: ScriptCall<T>): Promise<T> =>
    decode(await scene.client.eval(text.source, keyCount, ...args));
  const ask = (key: string, owner: string, limit = 1): AcquireRequest => {
    const rest = { lease: 20_000, claimLease: 1_000, wait: false, callers: 1, tokens: 1, contended: false };
    return { key, owner: owner as OwnerId, ...rest, limit, permits: 1, label: undefined };
  };
  const giveUp = (key: string, owner: string): Promise<unknown> =>
    run(calls.cancel({ key, owner: owner as OwnerId, wasGranted: false, inDoubt: true }));

  it('P32: only late requests of that owner are rejected, at once and for every way to acquire a lock', async () => {
    const [late, other] = [scene.key(), scene.key()];
    await giveUp(late, 'a:1');
    expect(await run(calls.take([ask(late, 'a:1'), ask(other, 'a:2')]))).toEqual([
      { token: undefined, ttl: -2 },
      { token: expect.any(Number), since: expect.any(Number) },
    ]);
    expect(await run(calls.acquire(ask(late, 'a:1'), 'p', 'a'))).toMatchObject({
      reply: { outcome: 'cancelled' },
    });
  });

  it('P4: they expire, and new ones replace the oldest', async () => {
    const key = scene.key();
    const [seconds] = await scene.client.time();
    const now = Number(seconds) * 1000;
    for (let i = 0; i < 20; i += 1) await scene.client.zadd(gone, now - 60_000 + i, `a:old-${String(i)}`);
    for (let i = 0; i < 10; i += 1) await giveUp(key, `a:new-${String(i)}`);
    expect((await scene.client.zrange(gone, '0', '-1')).sort()).toEqual(
      Array.from({ length: 10 }, (_, i) => `a:new-${String(i)}`),
    );
    expect(await scene.client.pttl(gone)).toBeGreaterThan(50_000);
    expect(await scene.client.pttl(gone)).toBeLessThanOrEqual(60_000);
  });
});
