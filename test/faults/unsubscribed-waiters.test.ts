import { describe, expect, it } from '@jest/globals';
import type { AcquireRequest, OwnerId } from '../../lib/stores/port/index.js';
import type { PubSubMode } from '../../lib/stores/redis/scripts/key-names.js';
import { KeyNames } from '../../lib/stores/redis/scripts/key-names.js';
import { LockCalls } from '../../lib/stores/redis/scripts/scripts.js';
import type { ScriptCall } from '../../lib/stores/redis/scripts/scripts.js';
import { RedisScene } from './redis-scene.js';

const CLAIM = 1_500;

describe('waiters without a subscriber on their channel', () => {
  const scene = new RedisScene({ inVirtualTime: true });
  const names = new KeyNames('lock:');
  const calls = new LockCalls(names, 'client');
  const [holder, first, second] = ['a:1', 'b:1', 'c:1'] as [OwnerId, OwnerId, OwnerId];

  const run = async <T>({ text, keyCount, args, decode }: ScriptCall<T>): Promise<T> =>
    decode(await scene.client.eval(text.source, keyCount, ...args));

  /** Releases the lock while both owners wait for it. */
  async function released(mode: PubSubMode): Promise<{ key: string; lock: string; inLine: string[] }> {
    const key = scene.key();
    const { lock, queue } = names.of(key);
    const ask = (owner: OwnerId): AcquireRequest => {
      const rest = { lease: 20_000, claimLease: CLAIM, callers: 1, tokens: 1, contended: false };
      return { key, owner, wait: true, ...rest, limit: 1, permits: 1, label: undefined };
    };
    await run(calls.take([ask(holder)]));
    for (const owner of [first, second]) {
      expect(await run(calls.acquire(ask(owner), mode, `nobody:${owner}`))).toMatchObject({
        reply: { outcome: 'queued' },
      });
    }
    expect(await run(calls.release([{ key, owner: holder, wasGranted: true, inDoubt: false }]))).toEqual([
      'released',
    ]);
    return { key, lock, inLine: await scene.client.zrange(queue, '0', '-1') };
  }

  it.each(['p', 's'] as const)(
    'P12: where the server counts subscribers (%s) they are skipped and keep their queue positions',
    async (mode) => {
      const { lock, inLine } = await released(mode);
      expect(await scene.client.exists(lock)).toBe(0);
      expect(inLine).toEqual([first, second]);
    },
  );

  it('P12, P41: where it cannot (a) the first one is granted the lock and must claim it in time', async () => {
    const { key, lock, inLine } = await released('a');
    expect(await scene.client.hgetall(lock)).toMatchObject({ [first]: '1', unclaimed: '1' });
    expect(inLine).toEqual([second]);
    // It gets the claim lease at most, and not that of a waiter whose poll is still awaited.
    expect(await scene.client.pttl(lock)).toBeLessThanOrEqual(CLAIM);
    expect(await run(calls.renew([{ key, owner: first, lease: 20_000 }]))).toEqual(['renewed']);
    expect(await scene.client.pttl(lock)).toBeGreaterThan(CLAIM);
  });
});
