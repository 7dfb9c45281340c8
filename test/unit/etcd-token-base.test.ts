import { describe, expect, it } from '@jest/globals';
import { TokenBase } from '../../lib/stores/etcd/locks/token-base.js';
import type { EtcdConnection } from '../../lib/stores/etcd/connection/etcd-connection.js';
import type { KeyValue, Transaction } from '../../lib/stores/etcd/connection/protocol.js';

const HOUR_AHEAD = (Date.now() + 3_600_000) * 1_000;

function stored(value: number, modified: number): KeyValue[] {
  return [{ key: 'p/base', value: String(value), created: modified, modified, lease: 0 }];
}

/** A base, the transactions that write it, and how often it was replaced. */
function scene(): { base: TokenBase; written: Transaction[]; changes: () => number } {
  const written: Transaction[] = [];
  let changes = 0;
  const call = (_: unknown, transaction: Transaction): Promise<unknown> => {
    written.push(transaction);
    const [put] = transaction.then;
    const entries = put?.do === 'put' ? stored(Number(put.value), 100 + written.length) : [];
    const replies = [{ do: 'put' }, { do: 'range', entries, count: 1 }];
    return Promise.resolve({
      revision: 100 + written.length,
      reply: { do: 'txn', succeeded: true, replies },
    });
  };
  const base = new TokenBase('p/base', { call } as unknown as EtcdConnection, () => {
    changes += 1;
  });
  return { base, written, changes: () => changes };
}

describe('the base of tokens in etcd', () => {
  it('F52: exceeds every known token when it is created again, even if the clock is behind', async () => {
    const { base, changes } = scene();
    expect(base.learn(stored(HOUR_AHEAD, 1))).toBe(true);
    base.saw(99);
    const last = base.at(99);
    expect(base.learn([])).toBe(false);
    await base.create();
    expect(base.at(0)).toBeGreaterThan(last);
    expect(changes()).toBe(1);
  });

  it('F52: is created once by concurrent calls', async () => {
    const { base, written } = scene();
    await Promise.all([base.create(), base.create(), base.create()]);
    expect(written).toHaveLength(1);
    expect(written[0]?.if).toEqual([{ key: 'p/base', created: 0 }]);
  });

  it('F53: is raised when etcd was restored from a snapshot', async () => {
    const { base, written } = scene();
    base.learn(stored(HOUR_AHEAD, 1));
    base.saw(5_000);
    const last = base.at(5_000);
    expect(base.isBehind(2_000)).toBe(true);
    const found = stored(HOUR_AHEAD, 1);
    base.learn(found);
    expect(base.isTooSmall).toBe(true);
    await base.create(undefined, found[0]);
    // Not if another process has raised it meanwhile.
    expect(written[0]?.if).toEqual([{ key: 'p/base', modified: 1 }]);
    expect(base.at(2_001)).toBeGreaterThan(last);
    expect(base.isTooSmall).toBe(false);
  });

  it('B16: yields no token for a write that was made under another base', () => {
    const { base } = scene();
    base.learn(stored(1_000, 7));
    expect(base.writtenAt(7)).toBeUndefined();
    expect(base.writtenAt(8)).toBe(1_000 + 8 * 128);
  });
});
