import { describe, expect, it } from '@jest/globals';
import { Reads, Transactions } from '../../../../lib/stores/etcd/transactions.js';
import {
  foundIn,
  type RangeCall,
  type Transaction,
  type TransactionReply,
} from '../../../../lib/stores/etcd/connection/protocol.js';

const nothing: TransactionReply = { do: 'txn', succeeded: true, replies: [] };

function named(name: string): Transaction {
  return { do: 'txn', if: [], then: [{ do: 'delete', key: name }], else: [] };
}

function nameOf(call: Transaction['then'][number]): string {
  const [first] = call.do === 'txn' ? call.then : [];
  return first?.do === 'delete' ? first.key : '?';
}

/** The names of the transactions that are sent; each array is one request. */
function scene() {
  const sent: string[][] = [];
  const transactions = new Transactions((transaction) => {
    const all = transaction.then.filter((each) => each.do === 'txn');
    sent.push(all.length > 0 ? all.map(nameOf) : [nameOf(transaction)]);
    const replies = all.map(() => nothing);
    return Promise.resolve({ revision: 1, reply: { ...nothing, replies } });
  });
  return { transactions, sent };
}

const endOfTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Like {@link scene}, but the test replies, to the oldest request first. */
function slowScene() {
  const sent: string[][] = [];
  const open: (() => void)[] = [];
  const transactions = new Transactions((transaction) => {
    const all = transaction.then.filter((each) => each.do === 'txn');
    sent.push(all.length > 0 ? all.map(nameOf) : [nameOf(transaction)]);
    return new Promise((resolve) => {
      open.push(() => resolve({ revision: 1, reply: { ...nothing, replies: all.map(() => nothing) } }));
    });
  });
  /** Whether there was a request. */
  const reply = (): boolean => {
    const first = open.shift();
    first?.();
    return first !== undefined;
  };
  return { transactions, sent, reply };
}

describe('transactions of one tick in etcd', () => {
  it('P21: are sent together, except those of the same key', async () => {
    const { transactions, sent } = scene();
    const asked = ['a', 'b', 'a'].map((key, index) =>
      transactions.run([key], named(`${key}${String(index)}`)),
    );
    await Promise.all(asked);
    expect(sent).toEqual([['a0', 'b1'], ['a2']]);
  });

  it('B16: of one lock are never sent together, since their revisions become tokens', async () => {
    const { transactions, sent } = scene();
    const asked = ['one', 'two'].map((entry) => transactions.run([entry, 'key'], named(entry)));
    await Promise.all(asked);
    expect(sent).toEqual([['one'], ['two']]);
  });

  it('P20, P26: a release is sent with an earlier queue request, not before it', async () => {
    const { transactions, sent } = scene();
    await Promise.all([
      transactions.run(['key'], named('claim')),
      transactions.run(['key'], named('place')),
      transactions.run(['hold of key'], named('end'), { behind: 'key' }),
      transactions.run(['hold of another'], named('end of another'), { behind: 'another' }),
    ]);
    expect(sent).toEqual([
      ['claim', 'end of another'],
      ['place', 'end'],
    ]);
  });

  it('F69: wait while too many are under way, and renewals go before them', async () => {
    const { transactions, sent, reply } = slowScene();
    const asked = Array.from({ length: 3_000 }, (_, index) =>
      transactions.run([`${index}`], named(`${index}`)),
    );
    await endOfTick();
    expect(sent.flat()).toHaveLength(512);
    const renewed = transactions.run(['hold'], named('renewal'), { isRenewal: true });
    await endOfTick();
    expect(sent.at(-1)).toEqual(['renewal']);
    for (let left = sent.length; left > 0; left--) {
      reply();
      await endOfTick();
    }
    await renewed;
    expect(sent.flat().length).toBeLessThanOrEqual(1 + 2 * 512);
    while (reply()) await endOfTick();
    await Promise.all(asked);
    expect(sent.flat().filter((name) => name !== 'renewal')).toEqual(asked.map((_, index) => `${index}`));
  });

  it('F69: renewals are sent before the other transactions of their tick', async () => {
    const { transactions, sent } = scene();
    await Promise.all([
      transactions.run(['one'], named('one')),
      transactions.run(['hold'], named('renewal'), { isRenewal: true }),
      transactions.run(['two'], named('two')),
    ]);
    expect(sent).toEqual([['renewal'], ['one', 'two']]);
  });
});

describe('reads of one tick in etcd', () => {
  it('F69: are one request, which has each range once', async () => {
    const sent: Transaction[] = [];
    const reads = new Reads((transaction) => {
      sent.push(transaction);
      const replies = transaction.then.map((call) => {
        const key = call.do === 'range' ? call.key : '';
        const entry = { key, value: '', created: 1, modified: 1, lease: 0 };
        return { do: 'range', entries: [entry], count: 1 } as const;
      });
      return Promise.resolve({ revision: 7, reply: { do: 'txn', succeeded: true, replies } });
    });
    const range = (key: string): RangeCall => ({ do: 'range', key });
    const both = await Promise.all([
      reads.of(range('queue'), range('base')),
      reads.of(range('other'), range('base')),
    ]);
    expect(sent.map(({ then }) => then)).toEqual([[range('queue'), range('base'), range('other')]]);
    const found = both.map(({ reply }) => reply.map((each) => foundIn(each)[0]?.key));
    expect(found).toEqual([
      ['queue', 'base'],
      ['other', 'base'],
    ]);
  });
});
