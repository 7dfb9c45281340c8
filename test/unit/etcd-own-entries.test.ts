import { describe, expect, it } from '@jest/globals';
import { TimerQueue } from '../../lib/common/timer-queue.js';
import type { AcquireRequest, MonotonicMs, OwnerId } from '../../lib/stores/port/index.js';
import { KeyNames, type Entry } from '../../lib/stores/etcd/locks/entries.js';
import type { LockContext } from '../../lib/stores/etcd/locks/context.js';
import { LockReader, LockState } from '../../lib/stores/etcd/locks/lock-reader.js';
import type { EtcdConnection } from '../../lib/stores/etcd/connection/etcd-connection.js';
import type { KeyValue, Transaction } from '../../lib/stores/etcd/connection/protocol.js';
import { TokenBase } from '../../lib/stores/etcd/locks/token-base.js';
import { OwnEntries } from '../../lib/stores/etcd/locks/own-entries.js';
import { LockStoreError } from '../../lib/stores/port/lock-store.js';
import { rejectionOf, within } from '../support/until.js';

describe('entries of a session of etcd', () => {
  it('fails a delayed claim when the session closes', async () => {
    const client = { now: () => 0 as MonotonicMs };
    const names = new KeyNames('p/');
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const context = { client, names, timers, base: { at: () => 1 } };
    const entries = new OwnEntries(context as unknown as LockContext);
    const owner = 'mine:1' as OwnerId;
    const request = { key: 'key', owner, limit: 1, claimLease: 2_000 } as AcquireRequest;
    entries.holdUnwritten(entries.add(names.lock('key'), request, 1, 1, 1), 2);
    const refused = rejectionOf(entries.renew({ key: 'key', owner, lease: 20_000 }));
    timers.close();
    entries.close();
    expect(await within(10_000, 'a reply', refused)).toBeInstanceOf(LockStoreError);
  });

  it('writes exactly the requested lease at any clock time', async () => {
    // The sum crosses a power of two, so that rounding makes the difference larger than the lease.
    const start = 2 ** 17 - 1_071.99;
    expect(start + 2_000 - start).toBeGreaterThan(2_000);
    const client = { now: () => start as MonotonicMs };
    const asked: number[] = [];
    const leases = { at: (ms: number) => (asked.push(ms), 'lease') };
    const written: Transaction['then'][number][] = [];
    const transactions = {
      run: (_: readonly string[], { then }: Transaction) => {
        written.push(...then);
        return Promise.resolve({ revision: 3, reply: { succeeded: true, replies: [] } });
      },
    };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const names = new KeyNames('p/');
    const base = { at: () => 1 };
    const context = { client, names, timers, base, leases, transactions };
    const entries = new OwnEntries(context as unknown as LockContext);
    const owner = 'mine:1' as OwnerId;
    const request = { key: 'key', owner, limit: 1, claimLease: 2_000 } as AcquireRequest;
    const entry = entries.add(names.lock('key'), request, 1, 1, 1);
    entries.granted(entry, 2, 1_000);
    for (const lease of [2_000, 3_000]) {
      expect(await entries.renew({ key: 'key', owner, lease, exactly: true })).toBe('renewed');
    }
    expect(await entries.renew({ key: 'key', owner, lease: 5_000 })).toBe('renewed');
    timers.close();
    expect(asked).toEqual([2_000, 3_000, 5_000]);
    const values = written.flatMap((put) => (put.do === 'put' ? [JSON.parse(put.value) as unknown] : []));
    expect(values).toMatchObject(asked.map((lease) => ({ lease })));
  });

  it('P20: sends a deletion after an earlier queue request of the same tick', async () => {
    const client = { now: () => 0 as MonotonicMs };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const names = new KeyNames('p/');
    const concerns: unknown[] = [];
    const transactions = {
      run: (keys: readonly string[], _: Transaction, behind?: string) => {
        concerns.push(keys, behind);
        return Promise.resolve({ revision: 3, reply: { succeeded: true, replies: [] } });
      },
    };
    const context = { client, names, timers, transactions };
    const entries = new OwnEntries(context as unknown as LockContext);
    const request = { key: 'key', owner: 'mine:1' as OwnerId, limit: 1, claimLease: 2_000 } as AcquireRequest;
    const entry = entries.add(names.lock('key'), request, 1, 1, 1);
    expect(await entries.delete(entry)).toBe(true);
    expect(concerns).toEqual([entry.name, 'key']);
    timers.close();
  });

  it('F54: does not delete an entry again that was deleted while a write of it was pending', async () => {
    const client = { now: () => 0 as MonotonicMs };
    const asked: Transaction[] = [];
    const answers: (() => void)[] = [];
    const transactions = {
      run: (_: readonly string[], transaction: Transaction) => {
        asked.push(transaction);
        return new Promise((resolve) => {
          answers.push(() => {
            resolve({ revision: 3, reply: { succeeded: true, replies: [] } });
          });
        });
      },
    };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const context = {
      client: { ...client, watchdogTimeout: 30_000 },
      names: new KeyNames('p/'),
      timers,
      base: { at: () => 1 },
      leases: { at: () => 1 },
      transactions,
    };
    const entries = new OwnEntries(context as unknown as LockContext);
    const request = { key: 'key', owner: 'mine:1' as OwnerId, limit: 1, claimLease: 2_000 } as AcquireRequest;
    const entry = entries.add(context.names.lock('key'), request, 1, 1, 1);
    entries.granted(entry, 2, 2_000);
    const written = entries.write(entry, { lease: 30_000, isRenewed: true });
    const deleted = entries.delete(entry);
    for (const answer of answers) answer();
    await Promise.all([written, deleted]);
    expect(asked).toHaveLength(2);
    // No timer is left.
    expect(entry.heapIndex).toBe(-1);
    timers.close();
  });

  it('P34: does not renew an expired lease whose timer has not fired yet', async () => {
    let now = 0;
    const client = { now: () => now as MonotonicMs };
    const done: Transaction['then'][number]['do'][] = [];
    const transactions = {
      run: (_: readonly string[], { then }: Transaction) => {
        done.push(...then.map((each) => each.do));
        return Promise.resolve({ revision: 3, reply: { succeeded: true, replies: [] } });
      },
    };
    const turns = { run: <T>(_: string, fn: () => T) => fn() };
    const leases = { at: () => 'lease' };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const names = new KeyNames('p/');
    const base = { at: () => 1 };
    const reader = { read: () => Promise.resolve(new LockState([], 1, client.now())) };
    const context = { client, names, timers, turns, base, leases, transactions, reader };
    const entries = new OwnEntries(context as unknown as LockContext);
    const request = { key: 'key', owner: 'mine:1' as OwnerId, limit: 1, claimLease: 2_000 } as AcquireRequest;
    const { owner } = request;
    entries.granted(entries.add(names.lock('key'), request, 1, 1, 1), 2, 1_000);
    now = 1_000;
    expect(await entries.renew({ key: 'key', owner, lease: 20_000 })).toBe('gone');
    expect(done).toEqual(['delete']);
    timers.close();
  });

  it('P34: does not delete an entry whose time comes while a write of it is pending', async () => {
    let now = 0;
    const client = { id: 'mine', now: () => now as MonotonicMs };
    const done: string[] = [];
    let answer = (): void => undefined;
    const transactions = {
      run: (_: readonly string[], { then }: Transaction) => {
        done.push(...then.map((call) => call.do));
        return new Promise((resolve) => {
          answer = () => {
            resolve({ revision: 3, reply: { succeeded: true, replies: [] } });
          };
        });
      },
    };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const names = new KeyNames('p/');
    const context = { client, names, timers, base: { at: () => 1 }, leases: { at: () => 1 }, transactions };
    const entries = new OwnEntries(context as unknown as LockContext);
    const owner = 'mine:1' as OwnerId;
    const request = { key: 'key', owner, limit: 1, claimLease: 2_000 } as AcquireRequest;
    const entry = entries.add(names.lock('key'), request, 1, 1, 1);
    entries.granted(entry, 2, 1_000);
    now = 990;
    const renewed = entries.renew({ key: 'key', owner, lease: 20_000 });
    now = 1_001;
    entry.fire(now as MonotonicMs);
    expect(done).toEqual(['put']);
    answer();
    expect(await renewed).toBe('renewed');
    now = 21_000;
    entry.fire(now as MonotonicMs);
    expect(done).toEqual(['put']);
    now = 21_002;
    entry.fire(now as MonotonicMs);
    expect(done).toEqual(['put', 'delete']);
    timers.close();
  });

  it('B15: does not treat an entry as expired while a request that shortens its lease is pending', async () => {
    let now = 0;
    const client = { id: 'mine', now: () => now as MonotonicMs };
    let answer = (): void => undefined;
    const transactions = {
      run: () =>
        new Promise((resolve) => {
          answer = () => {
            resolve({ revision: 3, reply: { succeeded: true, replies: [] } });
          };
        }),
    };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const names = new KeyNames('p/');
    const leases = { at: () => 'lease' };
    const base = { at: () => 1 };
    const context = { client, names, timers, base, leases, transactions };
    const reader = new LockReader(context as unknown as LockContext);
    const entries = new OwnEntries(context as unknown as LockContext);
    Object.assign(context, { own: entries });
    const request = { key: 'key', owner: 'mine:1' as OwnerId, limit: 1, claimLease: 2_000 } as AcquireRequest;
    const { owner } = request;
    const entry = entries.add(names.lock('key'), request, 1, 1, 1);
    entries.granted(entry, 2, 30_000);
    const renewed = entries.renew({ key: 'key', owner, lease: 10, exactly: true });
    now = 20;
    const stored: Entry = {
      ...entry.valueFor(true, 30_000),
      key: 'key',
      name: entry.name,
      owner,
      permits: 1,
      created: 1,
      modified: 1,
      leaseId: 1,
    };
    // Its own session does not measure it as others do.
    reader.observe([stored]);
    expect(reader.leaseLeft(stored)).toBe(29_980);
    answer();
    expect(await renewed).toBe('renewed');
    expect(reader.leaseLeft({ ...stored, modified: 3 })).toBe(10);
    timers.close();
  });

  it('B16: grants and reserves nothing without a valid token', async () => {
    const client = { now: () => 0 as MonotonicMs };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const names = new KeyNames('p/');
    const base = new TokenBase('p/base', {} as EtcdConnection, () => undefined);
    const context = { client, names, timers, base };
    const entries = new OwnEntries(context as unknown as LockContext);
    const request = { key: 'key', owner: 'mine:1' as OwnerId, limit: 1, claimLease: 2_000 } as AcquireRequest;
    const { owner } = request;
    const entry = entries.add(names.lock('key'), request, 1, 1, 1);
    const found = (value: string): KeyValue[] => [
      { key: 'p/base', value, created: 1, modified: 1, lease: 0 },
    ];
    expect(() => entries.grantOf(entry, 1, false)).toThrow('without a token');
    expect(() => {
      entries.granted(entry, 2, 1_000);
    }).toThrow('no tokens');
    for (const value of ['', '0x10', '-1', 'all', '9007199254740993']) {
      expect(() => base.learn(found(value))).toThrow(/^p\/base in etcd .*Put a number there/);
    }
    base.learn(found('1000'));
    entries.granted(entry, 2, 1_000);
    expect(entries.grantOf(entry, 1, false)).toMatchObject({ token: 1_256 });
    await expect(entries.reserve({ key: 'key', owner, lease: 0, tokens: 128 })).rejects.toThrow(RangeError);
    timers.close();
  });

  it('P32: writes only if the entry is on the known etcd lease, and otherwise retries with its actual one', async () => {
    const client = { now: () => 0 as MonotonicMs, watchdogTimeout: 30_000 };
    const timers = new TimerQueue({ monotonic: client.now }, false);
    const names = new KeyNames('p/');
    const conditions: unknown[] = [];
    const lock = names.lock('key');
    const name = names.entry(lock, 1, 'mine:1');
    const moved: KeyValue = { key: name, value: '{"state":"held"}', created: 1, modified: 2, lease: 8 };
    const transactions = {
      run: (_: readonly string[], { if: all }: Transaction) => {
        conditions.push(all);
        const succeeded = conditions.length > 1;
        const entries = succeeded ? [] : [moved];
        return Promise.resolve({
          revision: 3,
          reply: { succeeded, replies: [{ do: 'range', entries, count: entries.length }] },
        });
      },
    };
    const leases = { at: () => 9, isCurrent: () => false, isAlive: () => true };
    const context = { client, names, timers, leases, transactions, base: { at: () => 1 } };
    const entries = new OwnEntries(context as unknown as LockContext);
    const request = { key: 'key', owner: 'mine:1' as OwnerId, limit: 1, claimLease: 2_000 } as AcquireRequest;
    const entry = entries.add(lock, request, 1, 1, 7);
    entries.granted(entry, 2, 30_000);
    entry.isKept = true;
    const renewed = entries.renew({ key: 'key', owner: request.owner, lease: 30_000, isRenewed: true });
    expect(await renewed).toBe('renewed');
    expect(conditions).toEqual(
      [7, 8].map((lease) => [
        { key: name, created: 1 },
        { key: name, lease },
      ]),
    );
    expect(entry.leaseId).toBe(9);
    timers.close();
  });
});
