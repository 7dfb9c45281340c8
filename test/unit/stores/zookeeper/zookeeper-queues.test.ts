import { describe, expect, it } from '@jest/globals';
import type {
  AcquireRequest,
  LockStoreClient,
  MonotonicMs,
  OwnerId,
} from '../../../../lib/stores/port/lock-store.js';
import type { JoinReply } from '../../../../lib/stores/ordered/ordered-driver.js';
import { JuteWriter, type Operation } from '../../../../lib/stores/zookeeper/connection/protocol.js';
import { CODE, ZooKeeperError } from '../../../../lib/stores/zookeeper/connection/zookeeper-failure.js';
import type { Request } from '../../../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import { zookeeperStore } from '../../../../lib/stores/zookeeper/index.js';
import type { ZooKeeperDriver } from '../../../../lib/stores/zookeeper/zookeeper-driver.js';
import { requestsOf } from '../../../support/zookeeper-requests.js';

const TYPE = { delete: 2, getChildren: 12, multi: 14, createContainer: 19 };

/** Creates entries with that number, and refuses operations with these codes; records what is deleted. */
function nodesAt(sequence: string, refusals: Readonly<Record<number, number>> = {}) {
  const deleted: string[] = [];
  const sent: number[] = [];
  const path = `/l/locks/key/x-owner-${sequence}`;
  const answers = (operation: Operation<unknown>): unknown => {
    if (operation.type === TYPE.multi) {
      const container = createsContainer(operation) ? [undefined] : [];
      return [undefined, ...container, { path, stat: { czxid: 7 } }];
    }
    if (operation.type === TYPE.getChildren) {
      return { names: [path.slice(path.lastIndexOf('/') + 1)], stat: { pzxid: 7 } };
    }
    if (operation.type === TYPE.delete) {
      const to = new JuteWriter();
      operation.write(to);
      deleted.push(/\/[^\0\xff]*/.exec(to.frame().toString('latin1'))?.[0] ?? '');
    }
    return undefined;
  };
  const request = ((operation: Operation<unknown>) => {
    sent.push(operation.type);
    const isOfContainer = createsContainer(operation);
    const code = refusals[isOfContainer ? TYPE.createContainer : operation.type];
    return code === undefined
      ? Promise.resolve(answers(operation))
      : Promise.reject(new ZooKeeperError(code, isOfContainer ? 1 : 2));
  }) as Request;
  return { nodes: requestsOf(request), deleted, sent };
}

function createsContainer(operation: Operation<unknown>): boolean {
  const to = new JuteWriter();
  operation.write(to);
  return to.frame().includes(Buffer.from([0, 0, 0, TYPE.createContainer, 0]));
}

const join = (nodes: ZooKeeperDriver): Promise<JoinReply> =>
  nodes.join(
    { key: 'key', owner: 'owner' as OwnerId, limit: 1, permits: 1, contended: false } as AcquireRequest,
    (state) => ({ state, lease: 1, isKept: false, claim: 1, callers: 1, label: undefined }),
  );

describe('the queue of a lock in ZooKeeper', () => {
  it('accepts entries with numbers that ZooKeeper can count on from', async () => {
    const { nodes, deleted } = nodesAt('2000000000');
    expect((await join(nodes)).queue.holders).toHaveLength(1);
    expect(deleted).toEqual([]);
  });

  it('accepts no entry with a number near the last that ZooKeeper has, and counts again when it is empty', async () => {
    const { nodes, deleted } = nodesAt('2000000001');
    await expect(join(nodes)).rejects.toMatchObject({ retryable: true, inDoubt: false });
    expect(deleted).toEqual(['/l/locks/key/x-owner-2000000001', '/l/locks/key']);
  });
});

describe('a session of ZooKeeper', () => {
  it('P22: lets callers wait for releases of their own key only', async () => {
    const client = { id: 'mine', now: () => 0 as MonotonicMs, watchdogTimeout: 30_000 };
    const session = zookeeperStore({ hosts: '127.0.0.1:1' }).open(client as LockStoreClient);
    const { driver, own } = session as unknown as { driver: { connection: object }; own: object };
    Object.assign(own, { release: () => new Promise(() => undefined) });
    // Another request is under way, so the release may not have been received.
    Object.defineProperty(driver.connection, 'underWay', { value: 2 });
    void session.release({ key: 'stuck', owner: 'mine:1' as OwnerId, wasGranted: true, inDoubt: false });
    expect(session.whenSent?.('stuck')).toBeDefined();
    expect(session.whenSent?.('free')).toBeUndefined();
    await session.close();
  });
});

describe('the container of a queue in ZooKeeper', () => {
  it('is created with its first entry, so that none is left that never had one', async () => {
    const { nodes, sent } = nodesAt('0000000001');
    await join(nodes);
    expect(sent).toEqual([TYPE.multi, TYPE.getChildren]);
  });

  it('is used if somebody else has created it', async () => {
    const { nodes, sent } = nodesAt('0000000001', { [TYPE.createContainer]: CODE.nodeExists });
    await join(nodes);
    await join(nodes);
    expect(sent.filter((type) => type === TYPE.multi)).toHaveLength(3);
  });
});

describe('a user of ZooKeeper without all rights', () => {
  it('is told why a lock has no node, rather than that it has none', async () => {
    const { nodes } = nodesAt('0000000001', {
      [TYPE.createContainer]: CODE.noAuth,
      [TYPE.getChildren]: CODE.noNode,
    });
    await expect(join(nodes)).rejects.toMatchObject({ code: CODE.noAuth });
  });

  it('gets an entry in a queue that somebody else has created and this user could not', async () => {
    const { nodes } = nodesAt('0000000001', { [TYPE.createContainer]: CODE.noAuth });
    expect(await join(nodes)).toHaveProperty('path');
  });
});
