import { describe, expect, it } from '@jest/globals';
import {
  addressId,
  filtered,
  heldRows,
  holdId,
  listAll,
  withNews,
} from '../../../lib/dashboard/page/data.js';
import type {
  Overview,
  ShownEvent,
  ShownHold,
  ShownHolder,
  ShownList,
  ShownLock,
} from '../../../lib/dashboard/wire.js';

const NOW = 1_000_000;

/** A hold that began `ago` ms ago. */
const hold = (token: number, ago: number, more: Partial<ShownHold> = {}): ShownHold => ({
  key: 'invoices',
  operation: 'default',
  mode: 'exclusive',
  limit: 1,
  permits: 1,
  label: null,
  token,
  since: NOW - ago,
  heldFor: ago,
  remaining: 20_000,
  leaseTime: null,
  renewalError: null,
  local: false,
  callSite: null,
  isLong: false,
  ...more,
});

const shared = { mode: 'shared', limit: null } as const;

/** Snapshots of processes; their clients are `client-N`. */
const overviewOf = (...snapshots: readonly Partial<Overview['processes'][number]>[]): Overview => {
  const processes = snapshots.map((each, index) => ({
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

/** Tokens of the rows when each process has reported one hold, `age` ms ago. */
const shown = (...reports: readonly (readonly [age: number, held: ShownHold])[]) => {
  const overview = overviewOf(...reports.map(([age, held]) => ({ age, at: NOW - age, held: [held] })));
  return heldRows(overview, [], new Map()).map(({ token }) => token);
};

describe('O20: the table of held locks', () => {
  it('omits a former holder whose snapshot is older than the next hold', () => {
    expect(shown([4_000, hold(1, 5_000)], [0, hold(2, 20)])).toEqual([2]);
    expect(shown([0, hold(2, 20)], [4_000, hold(1, 5_000)])).toEqual([2]);
  });

  it('shows both holders of an exclusive lock if both report it for the same time', () => {
    expect(shown([0, hold(1, 5_000)], [1_000, hold(2, 4_000)])).toEqual([1, 2]);
  });

  it('shows all readers, but neither the writer before them nor the readers before a writer', () => {
    expect(shown([4_000, hold(1, 5_000, shared)], [0, hold(2, 20, shared)])).toEqual([1, 2]);
    expect(shown([4_000, hold(1, 5_000)], [0, hold(2, 20, shared)], [0, hold(3, 10, shared)])).toEqual([
      2, 3,
    ]);
    expect(shown([4_000, hold(1, 5_000, shared)], [0, hold(2, 20)])).toEqual([2]);
  });

  it('shows local holds in addition to holds in the store', () => {
    const local = { local: true };
    expect(shown([4_000, hold(1, 5_000, local)], [0, hold(2, 20)])).toEqual([1, 2]);
    expect(shown([4_000, hold(1, 5_000)], [0, hold(2, 20, local)])).toEqual([1, 2]);
  });

  it('does not mix up different keys', () => {
    expect(shown([4_000, hold(1, 5_000)], [0, hold(2, 20, { key: 'orders' })])).toEqual([1, 2]);
  });
});

/** The end of a hold, at the time of its token. */
const event = (type: 'released' | 'lost', token: number): ShownEvent => {
  const { key, operation, mode, limit, permits, label } = hold(token, 0);
  const facts = { key, at: token, operation, mode, limit, permits, label, token, heldFor: 5 };
  return type === 'lost' ? { ...facts, type, reason: 'expired', afterRelease: false } : { ...facts, type };
};

/** The list of the store `ago` ms ago: one key and its holders. */
const listing = (ago: number, lock: Partial<ShownLock>, ...holders: readonly Partial<ShownHolder>[]) => {
  const { key = 'invoices', instance = null } = lock;
  const none = {
    owner: 'other:1',
    acquiredAt: NOW - ago - 1_000,
    remaining: 20_000,
    expiresAt: NOW - ago + 20_000,
    remainingIsBound: false,
    permits: 1,
    label: null,
    process: null,
  };
  const listed = {
    mode: 'exclusive',
    limit: 1,
    permits: null,
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

describe('O20: the table of held locks after listing the store', () => {
  const tokens = (overview: Overview, listed: ReturnType<typeof listing>, broken?: Map<string, number>) =>
    heldRows(overview, [], listed, broken).map(({ token }) => token);

  it('shows the reader of a stopped process in addition to a reported one', () => {
    const listed = listing(0, shared, { token: 1 }, { token: 2, owner: 'client-0:1' });
    expect(tokens(overviewOf({ held: [hold(2, 20, shared)] }), listed)).toEqual([2, 1]);
  });

  it('shows the holder in the store in addition to a local hold, with any token', () => {
    const listed = listing(0, {}, { token: 1 });
    const rows = heldRows(overviewOf({ held: [hold(1, 20, { local: true })] }), [], listed);
    expect(rows.map(({ holder }) => holder)).toEqual(['web / 0', 'other software']);
  });

  it('shows the current holder instead of one whose snapshot is outdated', () => {
    const overview = overviewOf(
      { held: [hold(1, 9_000)], at: NOW - 4_000, age: 4_000 },
      { held: [hold(2, 3_000)] },
    );
    expect(tokens(overview, listing(0, {}, { token: 2 }))).toEqual([2]);
  });

  it('shows a lock that was handed over inside a process once, with the last token', () => {
    const listed = listing(0, {}, { token: 1, owner: 'client-0:1' });
    expect(tokens(overviewOf({ held: [hold(5, 20)] }), listed)).toEqual([5]);
    const two = listing(0, shared, { token: 1, owner: 'client-0:1' }, { token: 2, owner: 'client-0:1' });
    expect(tokens(overviewOf({ held: [hold(5, 20, shared)] }), two)).toEqual([5, 2]);
    expect(tokens(overviewOf({}, { held: [hold(5, 20, shared)] }), two)).toEqual([5, 1, 2]);
  });

  it('counts listed leases down, and omits expired ones', () => {
    const [row] = heldRows(overviewOf({}), [], listing(4_000, {}, { token: 1 }));
    expect(row).toMatchObject({ left: 16_000, leftIsBound: false, heldFor: 5_000 });
    const bound = heldRows(overviewOf({}), [], listing(4_000, {}, { token: 1, remainingIsBound: true }));
    expect(bound).toMatchObject([{ left: 16_000, leftIsBound: true }]);
    expect(tokens(overviewOf({}), listing(20_000, {}, { token: 1 }))).toEqual([]);
    const endless = heldRows(overviewOf({}), [], listing(90_000, {}, { token: 1, remaining: null }));
    expect(endless).toMatchObject([{ left: null }]);
  });

  it('omits a hold that was handed over, released or lost since the listing', () => {
    const listed = listing(4_000, {}, { token: 1 });
    expect(tokens(overviewOf({ held: [hold(2, 3_000)] }), listed)).toEqual([2]);
    const end = { ...event('released', 1), at: NOW - 3_000 };
    for (const each of [end, { ...event('lost', 1), at: end.at }]) {
      expect(tokens(overviewOf({ recent: [each] }), listed)).toEqual([]);
    }
    // It is still in the store, as with `holdAtLeast`.
    expect(tokens(overviewOf({ recent: [{ ...end, at: NOW - 5_000 }] }), listed)).toEqual([1]);
    expect(tokens(overviewOf({ instance: 'other', recent: [end] }), listed)).toEqual([1]);
  });

  it('omits the hold that was broken on this page, and only that one', () => {
    const broken = new Map([[holdId({ key: 'invoices', instance: null }, 1), NOW - 2_000]]);
    const listed = listing(4_000, shared, { token: 1 }, { token: 2 });
    expect(tokens(overviewOf({}), listed, broken)).toEqual([2]);
    expect(tokens(overviewOf({ held: [hold(1, 9_000)] }), new Map(), broken)).toEqual([]);
    expect(tokens(overviewOf({ held: [hold(1, 9_000, { local: true })] }), new Map(), broken)).toEqual([1]);
    // A process that reports it much later holds it.
    const longAgo = new Map([...broken.keys()].map((id) => [id, NOW - 60_000]));
    expect(tokens(overviewOf({ held: [hold(1, 9_000)] }), new Map(), longAgo)).toEqual([1]);
  });
});

describe('O20: search and history of the page', () => {
  it('finds holds by the text of any column', () => {
    const rows = heldRows(
      overviewOf(
        { held: [hold(12_345, 20, { label: 'order 7' })] },
        { held: [hold(678, 20, { ...shared, limit: 3, permits: 2, key: 'api' })] },
      ),
      [],
      new Map(),
    );
    const found = (text: string) => filtered(rows, text).map(({ key }) => key);
    for (const text of ['12345', 'Exclusive', 'order 7', 'invoices 12345', 'web']) {
      expect(found(text)).toContain('invoices');
    }
    expect(found('2 of at most 3')).toEqual(['api']);
    expect(found('678')).toEqual(['api']);
    expect(found('exclusive')).toEqual(['invoices']);
  });

  it('separates the histories of the same key in two module instances', () => {
    const overview = overviewOf(
      { instance: null, recent: [event('released', 1), event('released', 3)] },
      { instance: 'other', recent: [event('released', 2)] },
    );
    const history = (instance: string | null) =>
      [...withNews(new Map(), { key: 'invoices', instance }, overview).values()].map(({ at }) => at);
    expect(history(null)).toEqual([3, 1]);
    expect(history('other')).toEqual([2]);
  });

  it('lists the other module instances if the serving process does not have one of them', async () => {
    const lock = {
      mode: 'exclusive',
      limit: 1,
      permits: null,
      holders: [],
      waiting: 0,
      waiters: [],
    } as const;
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
