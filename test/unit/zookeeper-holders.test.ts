import { describe, expect, it } from '@jest/globals';
import type { AcquireRequest, MonotonicMs } from '../../lib/stores/port/index.js';
import { SessionTimers } from '../../lib/stores/port/times.js';
import { NodeQueue } from '../../lib/stores/zookeeper/locks/layout.js';
import { LockAcquirer } from '../../lib/stores/zookeeper/locks/lock-acquirer.js';
import type { LockNodes } from '../../lib/stores/zookeeper/locks/lock-nodes.js';
import { OwnEntries } from '../../lib/stores/zookeeper/locks/own-entries.js';
import { within } from '../support/until.js';

describe('reading the holders of a lock in ZooKeeper', () => {
  it('ends when the session is closed, even in a pause', async () => {
    const client = { now: () => performance.now() as MonotonicMs };
    const session = new SessionTimers(client);
    let reads = 0;
    const nodes = {
      client,
      queue: () => Promise.resolve(new NodeQueue('/key', ['x-a:1-0000000001'], 1)),
      read: () => {
        reads += 1;
        if (reads > 1) return Promise.reject(new Error('closed'));
        // During the next pause.
        setImmediate(() => {
          session.close();
        });
        return Promise.resolve({ data: { state: 'free' }, stat: { version: 0 } });
      },
    } as unknown as LockNodes;
    const { timers } = session;
    const acquirer = new LockAcquirer(nodes, new OwnEntries(nodes, timers), timers);
    // It conflicts with the exclusive holder.
    const request = { key: 'key', owner: 'b:1', limit: 2, wait: false, contended: true } as AcquireRequest;
    await expect(within(5_000, 'a reply', acquirer.acquire(request))).rejects.toThrow('closed');
    expect(reads).toBe(2);
  });
});
