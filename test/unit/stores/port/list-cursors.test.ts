import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../../../lib/index.js';
import {
  InvalidCursorError,
  type LockStore,
  type LockStoreSession,
} from '../../../../lib/stores/port/index.js';
import { etcdStore } from '../../../../lib/stores/etcd/index.js';
import { FallbackLockStore } from '../../../../lib/stores/fallback/fallback-lock-store.js';
import { postgresStore } from '../../../../lib/stores/postgres/index.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { RedisLockStore } from '../../../../lib/stores/redis/redis-lock-store.js';
import { zookeeperStore } from '../../../../lib/stores/zookeeper/index.js';
import { idleClient } from '../../../support/idle-client.js';

const redis = (): LockStore => new RedisLockStore('redis://127.0.0.1:1', 'lock:');
const etcd = (): LockStore => etcdStore({ hosts: '127.0.0.1:1' });
const FAR_TOO_LONG = 'k'.repeat(2_000);
const NO_NUMBERS = [
  'nonsense',
  '-1',
  '1.5',
  '0x10',
  '1e3',
  ' 1',
  '1\0',
  '18446744073709551616',
  '9'.repeat(30),
];

/** A store without a connection, cursors that it may return, and invalid ones. */
const STORES: readonly [string, () => LockStore, readonly string[], readonly string[]][] = [
  ['memory', () => new MemoryLockStore(), ['key', 'a key:1'], [FAR_TOO_LONG, '\ud800']],
  ['Redis', redis, ['1', '18446744073709551615'], [...NO_NUMBERS, '0', '7@127.0.0.1:7000']],
  [
    'Redis Cluster',
    () => new RedisLockStore({ nodes: [{ host: '127.0.0.1', port: 1 }] }, 'lock:'),
    ['0@127.0.0.1:7000', '7@::1:7000'],
    [...NO_NUMBERS, '17', '7@', '@127.0.0.1:1', '-1@127.0.0.1:1', '7@127.0.0.1:7000@', `7@${FAR_TOO_LONG}:1`],
  ],
  [
    'a quorum',
    () => new QuorumLockStore([redis(), redis(), redis()]),
    ['0.0@7', '1.0@', '2.1@18446744073709551615'],
    ['7', '0.0@nonsense', '3.0@', '1.2@', '-1.0@', '1.0@7@', `0.0@${FAR_TOO_LONG}`],
  ],
  [
    'PostgreSQL',
    () => postgresStore({ connection: 'postgres://127.0.0.1:1/x', keyPrefix: 'lock:' }),
    ['lock:key', 'lock:a\\\\b\\0'],
    ['key', 'lock:', 'lock;', 'loc', 'lock:a\\b', 'lock:\0', 'lock:\ud800', `lock:${FAR_TOO_LONG}`],
  ],
  [
    'etcd',
    etcd,
    [
      'distributed-lock/l/key/x/mine:1/1',
      'distributed-lock/l/key/r/mine:1/1',
      'distributed-lock/l/a%2Fb/s12+3/host.1-a:7/22',
    ],
    [
      'a',
      'distributed-lock/l/key',
      'distributed-lock/l/key/x/mine:1',
      'distributed-lock/l/key/y/mine:1/1',
      'distributed-lock/l//x/mine:1/1',
      'distributed-lock/t/key/x/mine:1/1',
      'distributed-lock/base',
      'other/l/key/x/mine:1/1',
      'distributed-lock/l/\ud800/x/mine:1/1',
      `distributed-lock/l/${FAR_TOO_LONG}/x/mine:1/1`,
    ],
  ],
  [
    'ZooKeeper',
    () => zookeeperStore({ hosts: '127.0.0.1:1' }),
    ['key', 'a%2Fb', '%2E'],
    ['a/b', '.', '..', '%', '%zz', '+trial', 'a%2fb', '\0', FAR_TOO_LONG],
  ],
  ['etcd behind a fallback', () => new FallbackLockStore(etcd()), [], ['a', 'distributed-lock/l0']],
];

describe('the cursor of a listing', () => {
  const open: LockStoreSession[] = [];
  afterEach(() => Promise.all(open.splice(0).map((session) => session.close())));

  it.each(STORES)(
    '%s: is rejected before anything is sent unless the store may have returned it',
    async (...row) => {
      const [, storeOf, good, bad] = row;
      const session = storeOf().open(idleClient);
      open.push(session);
      const outcomeOf = async (cursor: string): Promise<unknown> => {
        const listed = session.listKeys?.({ match: '*', cursor, count: 10 });
        return await Promise.resolve(listed).then(
          () => 'listed',
          (error: unknown) => error,
        );
      };
      for (const cursor of bad) expect(await outcomeOf(cursor)).toBeInstanceOf(InvalidCursorError);
      // A request that is sent fails, since there is no connection.
      for (const cursor of good) expect(await outcomeOf(cursor)).not.toBeInstanceOf(InvalidCursorError);
    },
  );
});
