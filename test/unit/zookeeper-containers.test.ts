import { describe, expect, it } from '@jest/globals';
import type { TimerQueue } from '../../lib/common/timer-queue.js';
import type { LockStoreClient } from '../../lib/stores/port/index.js';
import { JuteWriter, type Operation } from '../../lib/stores/zookeeper/connection/protocol.js';
import { ZooKeeperError } from '../../lib/stores/zookeeper/connection/zookeeper-failure.js';
import type { Request } from '../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import type { ClientNodes } from '../../lib/stores/zookeeper/locks/client-nodes.js';
import { LockPaths } from '../../lib/stores/zookeeper/locks/layout.js';
import { LockNodes } from '../../lib/stores/zookeeper/locks/lock-nodes.js';

const TYPE = { remove: 2, exists: 3, multi: 14 };
const NOT_EMPTY = -111;
const acl = { permissions: 31, scheme: 'world', id: 'anyone' };

describe('empty containers of locks in ZooKeeper', () => {
  it('F54: are deleted although one of their transaction is in use again', async () => {
    const transactions: string[][] = [];
    const request = ((operation: Operation<unknown>) => {
      if (operation.type === TYPE.remove) return Promise.resolve();
      if (operation.type === TYPE.exists) return Promise.resolve({ children: 0 });
      expect(operation.type).toBe(TYPE.multi);
      const to = new JuteWriter();
      operation.write(to);
      const paths = [
        ...to
          .frame()
          .toString('latin1')
          .matchAll(/\/l\/locks\/\w+/g),
      ].map(([path]) => path);
      transactions.push(paths);
      const used = paths.indexOf('/l/locks/used');
      return used === -1 ? Promise.resolve([]) : Promise.reject(new ZooKeeperError(NOT_EMPTY, used));
    }) as Request;
    const client = { now: () => 0 } as unknown as LockStoreClient;
    const timers = { after: () => undefined } as unknown as TimerQueue;
    const nodes = new LockNodes(client, request, new LockPaths('/l'), {} as ClientNodes, acl, timers);
    for (const key of ['a', 'used', 'b']) await nodes.remove(`/l/locks/${key}/x-a:1-0000000001`);
    await nodes.close();
    expect(transactions).toEqual([
      ['/l/locks/a', '/l/locks/used', '/l/locks/b'],
      ['/l/locks/a', '/l/locks/b'],
    ]);
  });
});
