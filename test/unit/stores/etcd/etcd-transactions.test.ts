import { describe, expect, it } from '@jest/globals';
import { Transactions } from '../../../../lib/stores/etcd/transactions.js';
import type { TransactionReply, Transaction } from '../../../../lib/stores/etcd/connection/protocol.js';

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
});
