import { describe, it } from '@jest/globals';
import { KeyNames } from '../../lib/stores/redis/scripts/key-names.js';
import { deleteUnder } from './deleted-data.js';
import { RedisScene } from './redis-scene.js';

const names = new KeyNames('lock:');

describe('a Redis whose data is deleted', () => {
  const scene = new RedisScene();

  /** What an operator deletes, and whether the hold is lost by that. */
  const acts: readonly [string, boolean, (key: string) => Promise<unknown>][] = [
    ['everything', true, () => scene.client.flushall()],
    ['the lock', true, (key) => scene.client.del(names.of(key).lock)],
    ['its queue', false, (key) => scene.client.del(names.of(key).queue)],
    ['its waiters', false, (key) => scene.client.del(names.of(key).waiters)],
    ['its lock and queue', true, (key) => scene.client.del(names.of(key).lock, names.of(key).queue)],
    ['its lock and waiters', true, (key) => scene.client.del(names.of(key).lock, names.of(key).waiters)],
    ['the last token', false, () => scene.client.del(names.fence(0))],
    [
      'all tombstones',
      false,
      async () => {
        const all = await scene.client.keys('*@:gone:*');
        if (all.length > 0) await scene.client.del(...all);
      },
    ],
  ];

  it.each(acts)(
    'F52: %s: holders are notified, waiters are served, and tokens grow',
    async (_, ends, act) => {
      await deleteUnder(scene, act, ends);
    },
    30_000,
  );
});
