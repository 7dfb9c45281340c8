import { describe, expect, it } from '@jest/globals';
import type { AcquireRequest, MonotonicMs, OwnerId } from '../../../../lib/stores/port/index.js';
import { TimerQueue } from '../../../../lib/common/timer-queue.js';
import { Acquirer } from '../../../../lib/stores/ordered/acquirer.js';
import type { EntryData } from '../../../../lib/stores/ordered/entry-data.js';
import { HolderLeases } from '../../../../lib/stores/ordered/holder-leases.js';
import { LockQueue } from '../../../../lib/stores/ordered/lock-queue.js';
import type { OrderedDriver } from '../../../../lib/stores/ordered/ordered-driver.js';
import type { SessionContext } from '../../../../lib/stores/ordered/own-entries.js';
import { OwnEntries } from '../../../../lib/stores/ordered/own-entries.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { elapse, until, within } from '../../../support/until.js';

inVirtualTime();

const owner = 'a:1' as OwnerId;
const request: AcquireRequest = {
  ...{ key: 'key', owner, lease: 1_500, claimLease: 1_500, wait: true, callers: 1, tokens: 1 },
  ...{ contended: true, limit: 1, permits: 1, label: undefined },
};

/** The entries of `key` with these names, each of which starts with its owner. */
function queueOf(...paths: readonly string[]): LockQueue {
  const entries = paths.map((path) => ({ path, owner: path.slice(0, 3), limit: 1, permits: 1 }));
  return new LockQueue('key', entries, 1);
}

const written = { revision: 7 };
const held: EntryData = {
  ...{ state: 'holds', lease: 1_500, isKept: false, claim: 1_500, callers: 1, label: undefined },
  since: 1,
};

describe('watches of waiters', () => {
  const [first, second, mine] = ['b:1 first', 'c:1 second', 'a:1 mine'] as const;
  const own = (queues: readonly (readonly string[])[]) => {
    let reads = 0;
    const data = { ...held, state: 'waits' };
    const driver = {
      isKept: () => false,
      queue: () => Promise.resolve(queueOf(...(queues[reads++] ?? queues.at(-1) ?? []))),
      watchEnd: ({ path }: { path: string }) => Promise.resolve(path === first),
      read: () => Promise.resolve({ data, created: 1, modified: 1, writes: 0, isOfSession: false }),
      write: () => Promise.resolve(written),
      remove: () => Promise.resolve(true),
    } as unknown as OrderedDriver;
    const events = {
      client: { id: 'a', watchdogTimeout: 30_000, now: () => 0 },
      timers: { set: () => undefined, clear: () => undefined },
    } as unknown as SessionContext;
    const entries = new OwnEntries(driver, events);
    const entry = entries.add(request, mine, true);
    const acquirer = new Acquirer(driver, entries, new HolderLeases(driver, events), events);
    return { entries, entry, acquirer };
  };

  it('are forgotten for a predecessor that left before it was watched', async () => {
    const { entries, acquirer, entry } = own([
      [first, second, mine],
      [first, mine],
    ]);
    expect(await acquirer.acquire(request)).toMatchObject({ outcome: 'queued' });
    expect([...entries.takeWatchers(second)]).toEqual([]);
    expect([...entries.takeWatchers(first)]).toEqual([entry]);
  });

  it('are forgotten with a waiter that leaves while its predecessor stays', async () => {
    const { entries, acquirer, entry } = own([[first, mine]]);
    expect(await acquirer.acquire(request)).toMatchObject({ outcome: 'queued' });
    await entries.remove(entry);
    expect([...entries.takeWatchers(first)]).toEqual([]);
  });
});

describe('reading the holders of a lock', () => {
  it('ends when the session is closed, even in a pause', async () => {
    const timers = new TimerQueue({ monotonic: () => performance.now() as MonotonicMs }, false, true);
    let reads = 0;
    const driver = {
      queue: () => Promise.resolve(queueOf('a:1 first')),
      read: () => {
        reads += 1;
        if (reads > 1) return Promise.reject(new Error('closed'));
        // During the next pause.
        setImmediate(() => {
          timers.close();
        });
        return Promise.resolve({ data: { state: 'free' }, writes: 0 });
      },
    } as unknown as OrderedDriver;
    const events = { client: { now: () => performance.now() }, timers } as unknown as SessionContext;
    const own = new OwnEntries(driver, events);
    const acquirer = new Acquirer(driver, own, new HolderLeases(driver, events), events);
    // It conflicts with the exclusive holder.
    const refused = acquirer.acquire({ ...request, owner: 'b:1' as OwnerId, limit: 2, wait: false });
    await expect(within(5_000, 'a reply', refused)).rejects.toThrow('closed');
    expect(reads).toBe(2);
  });
});

describe('a hold that was found by a read', () => {
  /** A waiter that a read has shown behind another one, and then at the head. */
  const waiter = (lasts = Infinity) => {
    const timers = new TimerQueue({ monotonic: () => performance.now() as MonotonicMs }, false, true);
    const writes: EntryData[] = [];
    let entries = ['b:1 first', 'a:1 mine'];
    const granted: unknown[] = [];
    const driver = {
      tokenOf: (revision: number) => revision * 128,
      isKept: (lease: number, isRenewed: boolean) => isRenewed && lease <= 30_000,
      queue: () => {
        const queue = queueOf(...entries);
        return Promise.resolve(new LockQueue('key', queue.entries, 4, performance.now() as MonotonicMs));
      },
      watchEnd: () => Promise.resolve(true),
      read: () => Promise.resolve({ data: held, created: 1, modified: 1, writes: 1, isOfSession: true }),
      write: (one: { data: EntryData }) => {
        writes.push(one.data);
        return Promise.resolve({ revision: 9 });
      },
      remove: () => Promise.resolve(true),
      lastsUntil: performance.now() + lasts,
    } as unknown as OrderedDriver;
    const client = {
      id: 'a',
      watchdogTimeout: 30_000,
      now: () => performance.now(),
      granted: (_: OwnerId, grant: unknown) => granted.push(grant),
    };
    const events = { client, timers } as unknown as SessionContext;
    const own = new OwnEntries(driver, events);
    own.add(request, 'a:1 mine', true);
    const acquirer = new Acquirer(driver, own, new HolderLeases(driver, events), events);
    return {
      own,
      acquirer,
      writes,
      granted,
      timers,
      grant: async (by = request) => {
        expect(await acquirer.acquire(by)).toMatchObject({ outcome: 'queued' });
        entries = ['a:1 mine'];
        acquirer.onChanged('b:1 first', true);
        await until('it is granted', () => granted.length > 0);
      },
    };
  };

  it('needs no write if it ends at once', async () => {
    const { own, writes, granted, grant, timers } = waiter();
    await grant();
    expect(granted).toMatchObject([{ token: 4 * 128 }]);
    expect(await own.release({ key: 'key', owner, wasGranted: true, inDoubt: false })).toBe('released');
    await elapse(30);
    expect(writes).toEqual([]);
    timers.close();
  });

  it('B22: counts from no later than its session is known to last', async () => {
    const lastsUntil = performance.now() + 1_400;
    const { granted, grant, timers } = waiter(1_400);
    await grant();
    const [{ startedAt } = { startedAt: NaN }] = granted as { startedAt: number }[];
    expect(startedAt + request.claimLease).toBeCloseTo(lastsUntil, -1);
    timers.close();
  });

  it('B22: is written first if its session may end soon', async () => {
    const { writes, granted, grant, timers } = waiter(700);
    await grant();
    expect(writes).toHaveLength(1);
    expect(granted).toMatchObject([{ token: 9 * 128 }]);
    timers.close();
  });

  it('is written with its claim, as a hold that lasts as long as the session', async () => {
    const { own, writes, grant, timers } = waiter();
    await grant();
    const renewed = own.renew([{ key: 'key', owner, lease: 30_000, isRenewed: true }]);
    expect(await renewed).toEqual(['renewed']);
    expect(writes).toMatchObject([{ state: 'holds', token: 4 * 128, lease: 30_000, isKept: true }]);
    timers.close();
  });

  it('B22: lasts no longer than its entry says, if a longer claim lease could not be written', async () => {
    const { acquirer, writes, granted, grant, timers } = waiter();
    const short = { ...request, lease: 100, claimLease: 100 };
    expect(await acquirer.acquire(short)).toMatchObject({ outcome: 'queued' });
    writes.push = () => {
      throw new Error('the reply is lost');
    };
    await expect(acquirer.acquire({ ...request, lease: 9_000 })).rejects.toThrow('lost');
    await grant(short);
    expect(granted).toMatchObject([{ lease: 100 }]);
    timers.close();
  });

  it('is written without a claim as well, since other clients count its lease', async () => {
    const { writes, grant, timers } = waiter();
    await grant();
    await until('it is written', () => writes.length > 0);
    expect(writes).toMatchObject([{ state: 'holds', token: 4 * 128, isKept: false }]);
    timers.close();
  });
});
