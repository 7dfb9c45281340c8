import { describe, expect, it } from '@jest/globals';
import { JoinQueue, type Join } from '../../../../lib/stores/etcd/join-queue.js';
import { LockQueue } from '../../../../lib/stores/ordered/lock-queue.js';
import { UnwantedError, type JoinReply } from '../../../../lib/stores/ordered/ordered-driver.js';
import type { AcquireRequest, OwnerId } from '../../../../lib/stores/port/lock-store.js';
import { rejectionOf } from '../../../support/until.js';

const endOfTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const noData = (): never => {
  throw new Error('nothing is written');
};

/** Requests are named `<key>:<number>`. The test replies to the oldest ones. */
function scene() {
  const sent: string[][] = [];
  const open: (() => void)[] = [];
  const left = new Set<string>();
  const send = (joins: readonly Join[]): Promise<readonly Join[]> => {
    sent.push(joins.map(({ request }) => request.owner));
    return new Promise((resolve) => {
      open.push(() => {
        for (const { request, resolve: done } of joins) {
          const queue = new LockQueue(request.key, [], 1);
          done({ path: request.owner, isHolder: true, created: 1, queue });
        }
        resolve([]);
      });
    });
  };
  const queue = new JoinQueue(send, ({ owner }) => !left.has(owner));
  const join = (name: string): Promise<JoinReply> => {
    const [key = ''] = name.split(':');
    return queue.join({ key, owner: name as OwnerId } as AcquireRequest, noData);
  };
  const reply = async (): Promise<void> => {
    open.shift()?.();
    await endOfTick();
  };
  return { sent, left, join, reply };
}

describe('requests for queue positions in etcd', () => {
  it('F69, P21: of one key travel together, in order, after the one that is pending', async () => {
    const { sent, join, reply } = scene();
    const names = ['a:1', 'a:2', 'b:1', 'a:3'];
    const joined = Promise.all(names.map(join));
    expect(sent).toEqual([['a:1'], ['b:1']]);
    await reply();
    expect(sent).toEqual([['a:1'], ['b:1'], ['a:2', 'a:3']]);
    await reply();
    await reply();
    expect((await joined).map(({ path }) => path)).toEqual(names);
  });

  it('F69: are bounded, and nothing is sent for callers that left before', async () => {
    const { sent, left, join, reply } = scene();
    const all = Array.from({ length: 20_000 }, (_, index) => join(`key ${index}:1`));
    const [stays = '', ...gone] = all.slice(512).map((_, index) => `key ${512 + index}:1`);
    const refusals = Promise.all(all.slice(513).map(rejectionOf));
    await endOfTick();
    expect(sent).toHaveLength(512);
    for (const name of gone) left.add(name);
    await reply();
    await reply();
    expect(sent.slice(512)).toEqual([[stays]]);
    for (const refusal of await refusals) expect(refusal).toBeInstanceOf(UnwantedError);
  });

  it('F69: so many of one key travel together as each can have tokens of its own', async () => {
    const { sent, join, reply } = scene();
    const busy = Array.from({ length: 100 }, (_, index) => join(`busy:${index}`));
    for (let rounds = 0; rounds < 4; rounds++) await reply();
    await reply();
    await Promise.all(busy);
    expect(sent.map((names) => names.length)).toEqual([1, 32, 32, 32, 3]);
  });
});
