import { describe, expect, it } from '@jest/globals';
import type { AcquireRequest, MonotonicMs, OwnerId } from '../../lib/stores/port/lock-store.js';
import { KeyNames, type Entry } from '../../lib/stores/etcd/locks/entries.js';
import { KeyedSerialQueue } from '../../lib/stores/etcd/locks/turns.js';
import type { LockContext } from '../../lib/stores/etcd/locks/context.js';
import { LockState } from '../../lib/stores/etcd/locks/lock-reader.js';
import { OwnEntry } from '../../lib/stores/etcd/locks/own-entries.js';
import { WaitedLock } from '../../lib/stores/etcd/locks/waited-locks.js';
import { until } from '../support/until.js';

const names = new KeyNames('distributed-lock/');
const lock = names.lock('key');

const request = (owner: string): AcquireRequest => ({
  key: 'key',
  owner: owner as OwnerId,
  lease: 30_000,
  claimLease: 2_000,
  wait: true,
  callers: 1,
  tokens: 1,
  contended: true,
  limit: 1,
  permits: 1,
  label: undefined,
});

function entry(owner: string, created: number): Entry {
  const name = names.entry(lock, 1, owner);
  const facts = { limit: 1, permits: 1, lease: 30_000, callers: 1, token: undefined };
  const rest = { since: undefined, label: undefined, created, modified: created, leaseId: 1, isKept: false };
  return { key: 'key', name, owner, isHeld: created === 1, ...facts, ...rest };
}

const at = (revision: number, ...entries: Entry[]): LockState =>
  new LockState(entries, revision, 0 as MonotonicMs);

/** Resolves when everything that needs no reply is done. */
const allDone = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a waiter for a lock in etcd', () => {
  const [holder, waiting] = [entry('other:1', 1), entry('mine:1', 2)];

  /** One waiter of this session; reads return these states, one after the other. */
  function scene(...found: [LockState, ...LockState[]]): {
    waited: WaitedLock;
    own: OwnEntry;
    granted: string[];
    reads: () => number;
    observed: string[];
  } {
    const observed: string[] = [];
    const now = (): MonotonicMs => 0 as MonotonicMs;
    const granted: string[] = [];
    let reads = 0;
    const timers = { after: () => undefined, clear: () => undefined };
    const context = {
      client: { now, granted: (owner: string) => granted.push(owner) },
      turns: new KeyedSerialQueue(),
      timers,
      watches: { watch: () => () => undefined },
    };
    const reader = {
      read: () => {
        reads += 1;
        return Promise.resolve(found[reads - 1] ?? found[0]);
      },
      observe: (holders: readonly Entry[]) => observed.push(...holders.map(({ owner: name }) => name)),
    };
    const ownEntries = {
      holdUnwritten: () => undefined,
      grantOf: () => ({ token: 1, since: 0 }),
    };
    const own = new OwnEntry(lock, waiting.name, request('mine:1'), 2, 2, 1, () => undefined);
    const whole = { ...context, reader, own: ownEntries } as unknown as LockContext;
    const waited = new WaitedLock(lock, whole, () => undefined);
    return { waited, own, granted, reads: () => reads, observed };
  }

  it('is granted when the deletion is reported after its entry was put', async () => {
    const { waited, own, granted } = scene(at(3, waiting));
    waited.add(own, at(2, holder, waiting));
    waited.changed([{ key: holder.name, value: '', created: 0, modified: 3, lease: 0 }]);
    await until('it is granted', () => granted.length > 0);
    expect(granted).toEqual(['mine:1']);
  });

  it('is granted also when the deletion is reported before the reply that shows the holder', async () => {
    const { waited, own, granted } = scene(at(3, waiting));
    waited.changed([{ key: holder.name, value: '', created: 0, modified: 3, lease: 0 }]);
    waited.add(own, at(2, holder, waiting));
    await until('it is granted', () => granted.length > 0);
    expect(granted).toEqual(['mine:1']);
  });

  it('is granted also when the member that reports the deletion does not show it to reads yet', async () => {
    const { waited, own, granted } = scene(at(2, holder, waiting), at(3, waiting));
    waited.add(own, at(2, holder, waiting));
    waited.changed([{ key: holder.name, value: '', created: 0, modified: 3, lease: 0 }]);
    await until('it is granted', () => granted.length > 0);
    expect(granted).toEqual(['mine:1']);
  });

  it('waits no longer than the lease of a new holder that has died', () => {
    const { waited, own, observed } = scene(at(3, waiting));
    const dead = { ...entry('dead:1', 2), lease: 2_000 };
    const mine = { ...waiting, created: 3, modified: 3 };
    waited.add(own, at(3, holder, dead, mine));
    waited.changed([{ key: holder.name, value: '', created: 0, modified: 4, lease: 0 }]);
    expect(observed).toEqual(['dead:1']);
  });

  it('is granted when one transaction put its entry and released the lock, and the watch begins at that revision', async () => {
    const { waited, own, granted } = scene(at(2, waiting));
    waited.add(own, at(2, holder, waiting));
    waited.watched(2);
    await until('it is granted', () => granted.length > 0);
    expect(granted).toEqual(['mine:1']);
  });

  it('is not granted by reads that are older than what is known', async () => {
    const { waited, own, granted, reads } = scene(at(5, waiting), at(5, waiting), at(8, waiting));
    waited.add(own, at(7, holder, waiting));
    waited.watched(7);
    await until('both have been asked for', () => reads() === 2);
    await allDone();
    expect(granted).toEqual([]);
    // A read that is up to date counts.
    waited.watched(8);
    await until('it is granted', () => granted.length > 0);
  });

  it('is not granted by a read that is older than a reply before the last one', async () => {
    const { waited, own, granted, reads } = scene(at(6, waiting));
    waited.add(own, at(7, holder, waiting));
    waited.add(own, at(5, waiting));
    waited.watched(7);
    await until('both have been asked for', () => reads() === 2);
    await allDone();
    expect(granted).toEqual([]);
  });

  it('is not granted by a read that is older than a deletion', async () => {
    const { waited, own, granted, reads } = scene(at(5, waiting));
    waited.add(own, at(2, holder, waiting));
    waited.changed([{ key: holder.name, value: '', created: 0, modified: 7, lease: 0 }]);
    await until('both have been asked for', () => reads() === 2);
    await allDone();
    expect(granted).toEqual([]);
  });

  it('is not granted by another entry that the same owner had', async () => {
    const { waited, own, granted, reads } = scene(at(8, { ...waiting, created: 1 }));
    waited.add(own, at(7, holder, waiting));
    waited.watched(8);
    await until('it has been looked at', () => reads() === 1);
    await allDone();
    expect(granted).toEqual([]);
  });

  it('is not granted by an entry that was deleted during the read', async () => {
    const { waited, own, granted, reads } = scene(at(8, waiting));
    waited.add(own, at(7, holder, waiting));
    waited.watched(8);
    expect(reads()).toBe(1);
    waited.changed([{ key: waiting.name, value: '', created: 0, modified: 9, lease: 0 }]);
    await allDone();
    expect(granted).toEqual([]);
  });

  it('is granted after etcd has lost its data and its revisions start again', async () => {
    const { waited, own, granted } = scene(at(3, waiting));
    waited.add(own, at(7, holder, waiting));
    waited.forget();
    waited.watched(3);
    await until('it is granted', () => granted.length > 0);
  });

  it('causes no read while the holder is there', () => {
    const { waited, own, reads } = scene(at(2, holder, waiting));
    waited.add(own, at(2, holder, waiting));
    expect(reads()).toBe(0);
  });
});
