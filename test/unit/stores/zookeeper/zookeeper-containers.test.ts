import { describe, expect, it } from '@jest/globals';
import { JuteWriter, type Operation } from '../../../../lib/stores/zookeeper/connection/protocol.js';
import { ZooKeeperError } from '../../../../lib/stores/zookeeper/connection/zookeeper-failure.js';
import type { Request } from '../../../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import { requestsOf } from '../../../support/zookeeper-requests.js';

const TYPE = { remove: 2, exists: 3, multi: 14 };
const NOT_EMPTY = -111;

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
    const nodes = requestsOf(request);
    for (const key of ['a', 'used', 'b']) await nodes.remove(key, `/l/locks/${key}/x-a:1-0000000001`);
    await nodes.close(false);
    expect(transactions).toEqual([
      ['/l/locks/a', '/l/locks/used', '/l/locks/b'],
      ['/l/locks/a', '/l/locks/b'],
    ]);
  });
});
