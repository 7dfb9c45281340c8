import { describe, expect, it } from '@jest/globals';
import { heldRows } from '../../lib/dashboard/page/rows.js';
import type { Overview, ShownHold } from '../../lib/dashboard/wire.js';

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
