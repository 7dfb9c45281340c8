import { describe, expect, it } from '@jest/globals';
import { TimerQueue } from '../../lib/common/timer-queue.js';
import type { MonotonicMs } from '../../lib/index.js';
import type { LockContext } from '../../lib/stores/etcd/locks/context.js';
import { KeyNames, type Entry } from '../../lib/stores/etcd/locks/entries.js';
import { LockReader, LockState } from '../../lib/stores/etcd/locks/lock-reader.js';
import { KeyedSerialQueue } from '../../lib/stores/etcd/locks/turns.js';
import { rejectionOf, until, within } from '../support/until.js';

describe('inspecting a lock in etcd', () => {
  it('ends with the session, also while it waits for the token of a holder', async () => {
    const client = { now: () => 0 as MonotonicMs };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    let reads = 0;
    let isClosed = false;
    class ReaderOfOne extends LockReader {
      override read(): Promise<LockState> {
        reads += 1;
        if (isClosed) return Promise.reject(new Error('closed'));
        return Promise.resolve(new LockState([{ limit: 1 } as Entry], 1, client.now()));
      }

      override knownTokenOf(): undefined {
        return undefined;
      }
    }
    const context = {
      client,
      timers,
      names: new KeyNames('p/'),
      turns: new KeyedSerialQueue(),
    } as LockContext;
    const looked = rejectionOf(new ReaderOfOne(context).inspect('key'));
    await until('it has looked', () => reads > 0);
    isClosed = true;
    timers.close();
    expect(await within(10_000, 'its end', looked)).toEqual(new Error('closed'));
  });

  it('B20: never ends a hold that is renewed without writes', () => {
    const seen: string[] = [];
    const observed = { see: (_: string, name: string) => seen.push(name) };
    const reader = new LockReader({ observed, own: new Map() } as unknown as LockContext);
    const [kept, other] = [true, false].map((isKept) => ({ isKept, name: `kept: ${String(isKept)}` }));
    reader.observe([kept, other] as Entry[]);
    expect(reader.leaseLeft({ ...kept, lease: 7_000 } as Entry)).toBe(7_000);
    expect(seen).toEqual(['kept: false']);
  });
});
