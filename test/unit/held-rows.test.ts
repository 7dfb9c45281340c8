import { describe, expect, it } from '@jest/globals';
import { addressId, filtered, heldRows, holdId, listAll, withNews } from '../../lib/dashboard/page/data.js';
import type { Overview, ShownHold, ShownHolder, ShownList, ShownLock } from '../../lib/dashboard/wire.js';

const NOW = 1_000_000;

/** A hold that began so long ago, ms. */
const hold = (token: number, ago: number, more: Partial<ShownHold> = {}): ShownHold => ({
  key: 'invoices',
  name: 'default',
  mode: 'exclusive',
  limit: 1,
  label: null,
  token,
  since: NOW - ago,
  heldFor: ago,
  remaining: 20_000,
  leaseTime: null,
  renewalError: null,
  degraded: false,
  ...more,
});

const shared = { mode: 'shared', limit: null } as const;

/** Tokens of the rows, where processes have told of a hold each: how long ago, ms, and which. */
const shown = (...told: readonly (readonly [age: number, held: ShownHold])[]): readonly (number | null)[] => {
  const processes = told.map(([age, held], index) => ({
    client: `client-${String(index)}`,
    instance: null,
    host: 'web',
    pid: index,
    at: NOW - age,
    age,
    held: [held],
    recent: [],
  }));
  const overview = { now: NOW, processes } as unknown as Overview;
  return heldRows(overview, [], new Map()).map(({ token }) => token);
};

describe('O20: the table of held locks', () => {
  it('does not show the former holder of a lock that has passed on since that process told of itself', () => {
    expect(shown([4_000, hold(1, 5_000)], [0, hold(2, 20)])).toEqual([2]);
    expect(shown([0, hold(2, 20)], [4_000, hold(1, 5_000)])).toEqual([2]);
  });

  it('shows two holders of an exclusive lock that both say at the same time that they have it', () => {
    expect(shown([0, hold(1, 5_000)], [1_000, hold(2, 4_000)])).toEqual([1, 2]);
  });

  it('shows those who share a lock, and not the writer before them, nor the readers before a writer', () => {
    expect(shown([4_000, hold(1, 5_000, shared)], [0, hold(2, 20, shared)])).toEqual([1, 2]);
    expect(shown([4_000, hold(1, 5_000)], [0, hold(2, 20, shared)], [0, hold(3, 10, shared)])).toEqual([
      2, 3,
    ]);
    expect(shown([4_000, hold(1, 5_000, shared)], [0, hold(2, 20)])).toEqual([2]);
  });

  it('shows what a process holds in itself only, whatever others hold in the store', () => {
    const local = { degraded: true };
    expect(shown([4_000, hold(1, 5_000, local)], [0, hold(2, 20)])).toEqual([1, 2]);
    expect(shown([4_000, hold(1, 5_000)], [0, hold(2, 20, local)])).toEqual([1, 2]);
  });

  it('takes locks of different keys for what they are', () => {
    expect(shown([4_000, hold(1, 5_000)], [0, hold(2, 20, { key: 'orders' })])).toEqual([1, 2]);
  });
});

/** What the store had so long ago, ms: of one key, for each holder its token and whatever else is known. */
const listing = (ago: number, lock: Partial<ShownLock>, ...holders: readonly Partial<ShownHolder>[]) => {
  const { key = 'invoices', instance = null } = lock;
  const none = {
    since: NOW - ago - 1_000,
    remaining: 20_000,
    remainingIsBound: false,
    label: null,
    process: null,
    client: null,
  };
  const listed = {
    mode: 'exclusive',
    limit: 1,
    waiting: 0,
    waiters: [],
    ...lock,
    key,
    instance,
    at: NOW - ago,
    holders: holders.map((holder) => ({ token: null, ...none, ...holder })),
  } as const;
  return new Map([[addressId({ key, instance }), listed]]);
};

/** What processes tell; each is `client-N`. */
const overviewOf = (...told: readonly Partial<Overview['processes'][number]>[]): Overview => {
  const processes = told.map((each, index) => ({
    client: `client-${String(index)}`,
    instance: null,
    host: 'web',
    pid: index,
    at: NOW,
    age: 0,
    held: [],
    recent: [],
    ...each,
  }));
  return { now: NOW, processes } as unknown as Overview;
};

describe('O20: the table of held locks after the store was asked for all', () => {
  const tokens = (overview: Overview, listed: ReturnType<typeof listing>, broken?: Map<string, number>) =>
    heldRows(overview, [], listed, broken).map(({ token }) => token);

  it('shows the reader of a stopped process beside one of whom a process tells', () => {
    const listed = listing(0, shared, { token: 1 }, { token: 2, client: 'client-0' });
    expect(tokens(overviewOf({ held: [hold(2, 20, shared)] }), listed)).toEqual([2, 1]);
  });

  it('shows who has the lock in the store beside what a process holds in itself only, whatever the token', () => {
    const listed = listing(0, {}, { token: 1 });
    const rows = heldRows(overviewOf({ held: [hold(1, 20, { degraded: true })] }), [], listed);
    expect(rows.map(({ holder }) => holder)).toEqual(['web / 0', 'other software']);
  });

  it('shows who has the lock now instead of one whose process has not told yet that it is over', () => {
    const told = overviewOf(
      { held: [hold(1, 9_000)], at: NOW - 4_000, age: 4_000 },
      { held: [hold(2, 3_000)] },
    );
    expect(tokens(told, listing(0, {}, { token: 2 }))).toEqual([2]);
  });

  it('shows a lock once that a process has handed on to its own callers, with the last token', () => {
    const listed = listing(0, {}, { token: 1, client: 'client-0' });
    expect(tokens(overviewOf({ held: [hold(5, 20)] }), listed)).toEqual([5]);
    const two = listing(0, shared, { token: 1, client: 'client-0' }, { token: 2, client: 'client-0' });
    expect(tokens(overviewOf({ held: [hold(5, 20, shared)] }), two)).toEqual([5, 2]);
    expect(tokens(overviewOf({}, { held: [hold(5, 20, shared)] }), two)).toEqual([5, 1, 2]);
  });

  it('lets the leases that were listed run down, and leaves them out when nothing is left', () => {
    const [row] = heldRows(overviewOf({}), [], listing(4_000, {}, { token: 1 }));
    expect(row).toMatchObject({ left: 16_000, leftIsBound: false, heldFor: 5_000 });
    const bound = heldRows(overviewOf({}), [], listing(4_000, {}, { token: 1, remainingIsBound: true }));
    expect(bound).toMatchObject([{ left: 16_000, leftIsBound: true }]);
    expect(tokens(overviewOf({}), listing(20_000, {}, { token: 1 }))).toEqual([]);
    const endless = heldRows(overviewOf({}), [], listing(90_000, {}, { token: 1, remaining: null }));
    expect(endless).toMatchObject([{ left: null }]);
  });

  it('leaves out a hold that was passed on, released or lost since it was listed', () => {
    const listed = listing(4_000, {}, { token: 1 });
    expect(tokens(overviewOf({ held: [hold(2, 3_000)] }), listed)).toEqual([2]);
    const end = { type: 'released', key: 'invoices', at: NOW - 3_000, label: null, token: 1 };
    const recent = { lasted: 5, detail: null };
    for (const type of ['released', 'lost']) {
      expect(tokens(overviewOf({ recent: [{ ...end, ...recent, type }] }), listed)).toEqual([]);
    }
    // It is in the store still, as it is where it is held for some time at least.
    expect(tokens(overviewOf({ recent: [{ ...end, ...recent, at: NOW - 5_000 }] }), listed)).toEqual([1]);
    expect(tokens(overviewOf({ instance: 'other', recent: [{ ...end, ...recent }] }), listed)).toEqual([1]);
  });

  it('leaves out a hold that was broken on this page, and only that one', () => {
    const broken = new Map([[holdId({ key: 'invoices', instance: null }, 1), NOW - 2_000]]);
    const listed = listing(4_000, shared, { token: 1 }, { token: 2 });
    expect(tokens(overviewOf({}), listed, broken)).toEqual([2]);
    expect(tokens(overviewOf({ held: [hold(1, 9_000)] }), new Map(), broken)).toEqual([]);
    expect(tokens(overviewOf({ held: [hold(1, 9_000, { degraded: true })] }), new Map(), broken)).toEqual([
      1,
    ]);
    // Whoever tells of it much later has it.
    const longAgo = new Map([...broken.keys()].map((id) => [id, NOW - 60_000]));
    expect(tokens(overviewOf({ held: [hold(1, 9_000)] }), new Map(), longAgo)).toEqual([1]);
  });
});

describe('O20: what the page finds', () => {
  it('finds holds by what any column says in words or numbers', () => {
    const rows = heldRows(
      overviewOf(
        { held: [hold(12_345, 20, { label: 'order 7' })] },
        { held: [hold(678, 20, { ...shared, limit: 3, key: 'api' })] },
      ),
      [],
      new Map(),
    );
    const found = (text: string) => filtered(rows, text).map(({ key }) => key);
    for (const text of ['12345', 'Exclusive', 'order 7', 'invoices 12345', 'web']) {
      expect(found(text)).toContain('invoices');
    }
    expect(found('at most 3')).toEqual(['api']);
    expect(found('678')).toEqual(['api']);
    expect(found('exclusive')).toEqual(['invoices']);
  });

  it('takes the histories of equal keys of two module instances for those of two locks', () => {
    const event = (token: number) =>
      ({ type: 'granted', key: 'a', at: token, label: null, token, lasted: 0, detail: null }) as const;
    const told = overviewOf(
      { instance: null, recent: [event(1), event(3)] },
      { instance: 'other', recent: [event(2)] },
    );
    const history = (instance: string | null) =>
      [...withNews(new Map(), { key: 'a', instance }, told).values()].map(({ token }) => token);
    expect(history(null)).toEqual([3, 1]);
    expect(history('other')).toEqual([2]);
  });

  it('lists what the other module instances have where one is not known to the process that serves the page', async () => {
    const lock = { mode: 'exclusive', limit: 1, holders: [], waiting: 0, waiters: [] } as const;
    const read = (instance: string | null, cursor: string | null): Promise<ShownList> => {
      if (instance === 'worker') return Promise.reject(new Error('There is no such instance here.'));
      const key = cursor ?? 'first';
      return Promise.resolve({
        locks: [{ ...lock, key, instance }],
        at: 1,
        cursor: cursor === null ? 'second' : null,
      });
    };
    const { locks, failures } = await listAll([null, 'worker', 'billing'], read, () => undefined);
    expect([...locks.values()].map(({ key, instance }) => [key, instance])).toEqual([
      ['first', null],
      ['second', null],
      ['first', 'billing'],
      ['second', 'billing'],
    ]);
    expect(failures).toEqual(['Of the module instance worker: There is no such instance here.']);
  });
});
