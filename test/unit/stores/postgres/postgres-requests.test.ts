import { describe, expect, it } from '@jest/globals';
import { Deferred } from '../../../../lib/common/deferred.js';
import { LockStoreError, type OwnerId } from '../../../../lib/stores/port/lock-store.js';
import type { Row, Statement } from '../../../../lib/stores/postgres/postgres-connection.js';
import { RequestQueue, type Call } from '../../../../lib/stores/postgres/request-queue.js';
import { stateOf } from '../../../support/until.js';

/** A call whose reply is its name. */
const call = (name: string): Call<unknown> => ({ key: name, request: { name }, decode: (reply) => reply });

/** A connection on which the test replies. */
class Connection {
  readonly sent: string[][] = [];
  private readonly open: Deferred<readonly Row[]>[] = [];
  /** Owners whose callers have left. */
  readonly left = new Set<string>();
  readonly queue = new RequestQueue(
    { send: (statement) => this.send(statement) },
    (_, words) => ({ text: words, values: [] }),
    (owner) => !this.left.has(owner),
  );

  answer(): void {
    this.open.shift()?.resolve([{ replies: this.sent.at(-1) }]);
  }

  refuse(error: LockStoreError): void {
    this.open.shift()?.reject(error);
  }

  private send({ text }: Statement): Deferred<readonly Row[]> {
    const calls = JSON.parse(text) as readonly { readonly name: string }[];
    this.sent.push(calls.map(({ name }) => name));
    const reply = new Deferred<readonly Row[]>();
    this.open.push(reply);
    return reply;
  }
}

const endOfTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('requests to PostgreSQL', () => {
  it('P22: a release shares a statement with the next request of the caller', async () => {
    const { queue, sent } = new Connection();
    const released = queue.call(call('release'));
    // No caller has to wait for that.
    expect(queue.whenSent()).toBeUndefined();
    await Promise.resolve();
    const asked = queue.call(call('ask'));
    await endOfTick();
    expect(sent).toEqual([['release', 'ask']]);
    expect(await stateOf(released.promise)).toBe('pending');
    expect(await stateOf(asked.promise)).toBe('pending');
  });

  it('P22: the release of a lock that was just granted shares one, too', async () => {
    const connection = new Connection();
    const { queue, sent } = connection;
    let next: Promise<unknown> | undefined;
    queue.call(call('ask 1')).listen(
      () => {
        void queue.call(call('release 1'));
        expect(queue.whenSent()).toBeUndefined();
        next = Promise.resolve().then(() => queue.call(call('ask 2')));
      },
      () => undefined,
    );
    await endOfTick();
    connection.answer();
    await endOfTick();
    expect(sent).toEqual([['ask 1'], ['release 1', 'ask 2']]);
    connection.answer();
    expect(await next).toBe('ask 2');
  });

  it('P22: callers wait while a statement is under way, and continue when their own was sent', async () => {
    const connection = new Connection();
    const { queue, sent } = connection;
    void queue.call(call('before'));
    await endOfTick();
    void queue.call(call('release'));
    const whenSent = queue.whenSent();
    expect(await stateOf(Promise.resolve(whenSent))).toBe('pending');
    expect(whenSent).toBeDefined();
    connection.answer();
    await whenSent;
    expect(sent).toEqual([['before'], ['release']]);
    expect(queue.whenSent()).toBeUndefined();
  });

  it('P22: callers wait for calls that do not fit into one statement', async () => {
    const connection = new Connection();
    const { queue, sent } = connection;
    for (let index = 0; index < 64; index++) void queue.call(call(`release ${String(index)}`));
    expect(queue.whenSent()).toBeUndefined();
    void queue.call(call('one more'));
    const whenSent = queue.whenSent();
    expect(whenSent).toBeDefined();
    await endOfTick();
    expect(sent.map((names) => names.length)).toEqual([64]);
    expect(await stateOf(Promise.resolve(whenSent))).toBe('pending');
    connection.answer();
    await whenSent;
    expect(sent.at(-1)).toEqual(['one more']);
  });

  it('the rejection of one does not affect the others, and all are settled', async () => {
    const connection = new Connection();
    const { queue, sent } = connection;
    const refusal = new LockStoreError('refused', { inDoubt: false, retryable: false });
    const replies = ['a', 'b', 'c'].map((name) => queue.call(call(name)).promise);
    const outcomes = Promise.allSettled(replies);
    await endOfTick();
    connection.refuse(refusal);
    await endOfTick();
    connection.answer();
    await endOfTick();
    connection.refuse(refusal);
    await endOfTick();
    connection.answer();
    expect(await outcomes).toEqual([
      { status: 'fulfilled', value: 'a' },
      { status: 'rejected', reason: refusal },
      { status: 'fulfilled', value: 'c' },
    ]);
    expect(sent).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']]);
  });

  it('F69: renewals go before everything that waits, in their order', async () => {
    const connection = new Connection();
    const { queue, sent } = connection;
    const renewal = (name: string): Statement => ({ text: JSON.stringify([{ name }]), values: [] });
    void queue.call(call('before'));
    await endOfTick();
    void queue.call(call('ask'));
    for (const name of ['renewal 1', 'renewal 2']) void queue.send(renewal(name), true);
    for (let round = 0; round < 3; round++) {
      connection.answer();
      await endOfTick();
    }
    expect(sent).toEqual([['before'], ['renewal 1'], ['renewal 2'], ['ask']]);
  });

  it('F69: nothing is sent for a caller that left before', async () => {
    const connection = new Connection();
    const { queue, sent, left } = connection;
    const asks = (name: string): Call<unknown> => ({ ...call(name), waiter: `client:${name}` as OwnerId });
    void queue.call(call('before'));
    await endOfTick();
    const [gone, stays] = [queue.call(asks('gone')), queue.call(asks('stays'))];
    left.add('client:gone');
    connection.answer();
    expect(await gone).toMatchObject({ reply: { outcome: 'cancelled' } });
    await endOfTick();
    expect(sent).toEqual([['before'], ['stays']]);
    left.add('client:stays');
    expect(await stateOf(stays.promise)).toBe('pending');
  });
});
