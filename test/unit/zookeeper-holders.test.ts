import { describe, expect, it } from '@jest/globals';
import type { MonotonicMs } from '../../lib/index.js';
import type { ObservedLeases } from '../../lib/stores/port/observed-leases.js';
import { SessionTimers } from '../../lib/stores/port/times.js';
import { Line } from '../../lib/stores/zookeeper/locks/line.js';
import { Holders } from '../../lib/stores/zookeeper/requests/holders.js';
import type { LockNodes } from '../../lib/stores/zookeeper/requests/lock-nodes.js';
import { within } from '../support/until.js';

describe('a look at the holders of a lock in ZooKeeper', () => {
  it('ends when the session is closed, also in its pauses', async () => {
    const client = { now: () => performance.now() as MonotonicMs };
    const session = new SessionTimers(client);
    let reads = 0;
    const nodes = {
      pathOf: (key: string, name: string) => `/${key}/${name}`,
      read: () => {
        reads += 1;
        if (reads > 1) return Promise.reject(new Error('closed'));
        // In the pause that follows.
        setImmediate(() => {
          session.close();
        });
        return Promise.resolve({ data: { state: 'free' }, stat: { version: 0 } });
      },
    } as unknown as LockNodes;
    const observed = {} as ObservedLeases;
    const holders = new Holders(nodes, observed, session.timers);
    const looking = holders.firstLeaves('key', new Line(['x-a:1-0000000001'], 1));
    await expect(within(5_000, 'an answer', looking)).rejects.toThrow('closed');
  });
});
