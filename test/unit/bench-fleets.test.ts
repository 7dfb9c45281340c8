import { describe, expect, it } from '@jest/globals';
import { growthChecks } from '../../bench/rows/m16-fleets.mjs';

const step = (load: string, processes: number, callersEach: number, requests: number): object => ({
  load,
  processes,
  callersEach,
  requests,
  perSecond: load === 'one key, 2 ms' ? 450 : 10_000,
  failed: 0,
});

const STEPS = [
  step('one key', 4, 10, 0.06),
  step('one key', 4, 1, 3),
  step('one key, 2 ms', 4, 10, 0.15),
  step('one key', 64, 10, 0.06),
  step('100 keys', 64, 10, 2),
  step('own keys', 64, 10, 0.4),
  // 63 of 64 processes wait, and ask once a second.
  step('one key, 2 ms', 64, 10, 0.15 + 60 / 450),
];

const occupied = (heap: number, entries: number): object => ({ heap, store: { entries, bytes: 1_000 } });

const missed = (steps: object[], after = occupied(20, 1)): string[] =>
  growthChecks({ steps, before: occupied(20, 1), after })
    .filter(({ reached }) => reached === false)
    .map(({ what }) => what.replace('64 processes × 10 callers', 'fleet'));

describe('the checks of a growing fleet', () => {
  it('pass if requests per hold stay, but for the heartbeats of waiting processes', () => {
    expect(missed(STEPS)).toEqual([]);
  });

  it('find requests that grow with the processes', () => {
    const grown = STEPS.map((one) =>
      'processes' in one && one.processes === 64 ? { ...one, requests: 4 } : one,
    );
    expect(missed(grown)).toEqual([
      'fleet, one key: requests per hold ÷ those of 4 processes',
      'fleet, 100 keys: requests per hold ÷ those of a lock that goes from process to process',
      'fleet, one key, 2 ms: requests per hold without heartbeats ÷ those of 4 processes',
    ]);
  });

  it('find what is left behind in the processes and in the store', () => {
    expect(missed(STEPS, occupied(23, 2))).toEqual([
      'fleet: heap of a process afterwards ÷ before',
      'fleet: entries in the store more than before',
    ]);
  });

  it('compare nothing in a fleet too small for it', () => {
    expect(missed([step('one key', 2, 10, 9)])).toEqual([]);
  });
});
