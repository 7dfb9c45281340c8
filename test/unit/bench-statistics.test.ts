import { describe, expect, it } from '@jest/globals';
import { median, quantile, spreadOf } from '../../bench/harness/statistics.mjs';
import { shareInUse } from '../../bench/harness/processors.mjs';
import { longestOf, longestWithin, missesOf, note } from '../../bench/harness/writer-waits.mjs';
import { atLeast, atMost, mostToLeast } from '../../bench/report/checks.mjs';

describe('statistics of the benchmark', () => {
  it('interpolates quantiles between two values, in any order', () => {
    expect(quantile([4, 1, 3, 2], 0)).toBe(1);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(quantile([40, 10, 30, 20, 50], 0.9)).toBeCloseTo(46);
    expect(median([10, 9, 100])).toBe(10);
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(median([Infinity, 1, Infinity])).toBe(Infinity);
    expect(median([])).toBeNaN();
  });

  it('reports by how much a goal was missed', () => {
    expect(atLeast('a', 2, 2)).toMatchObject({ reached: true, verdict: 'reached', ratio: 1 });
    expect(atLeast('a', 1.5, 2)).toMatchObject({ reached: false, verdict: 'missed by 25 %' });
    expect(atMost('a', 3, 2)).toMatchObject({ reached: false, verdict: 'missed by 50 %' });
    expect(atMost('a', NaN, 2)).toMatchObject({ reached: false, verdict: 'not measured', value: null });
    expect(atMost('a', 0, 0)).toMatchObject({ reached: true, verdict: 'reached', ratio: null });
    expect(atMost('a', 1, 0)).toMatchObject({ reached: false, verdict: 'missed', ratio: null });
  });

  it('reports a missed goal if callers had no turn', () => {
    expect(mostToLeast('a', { least: 10, most: 15, ratio: 1.5, withoutAny: 0 }, 1.5)).toMatchObject({
      reached: true,
      measured: '1.50 (10–15)',
    });
    expect(mostToLeast('a', { least: 0, most: 15, ratio: Infinity, withoutAny: 3 }, 1.5)).toMatchObject({
      reached: false,
      verdict: 'missed: 3 callers had no turn',
    });
  });
});

describe('the load of the machine', () => {
  const at = (user: number, idle: number): { times: Record<string, number> } => ({ times: { user, idle } });

  it('is the fraction of non-idle time of all processors', () => {
    expect(shareInUse([at(100, 100), at(0, 0)], [at(200, 100), at(0, 100)])).toBe(0.5);
    expect(shareInUse([at(0, 0)], [at(25, 75)])).toBe(0.25);
  });

  it('ignores a new processor and an interval without ticks', () => {
    expect(shareInUse([at(0, 0)], [at(0, 100), at(500, 0)])).toBe(0);
    expect(shareInUse([at(5, 5)], [at(5, 5)])).toBe(0);
  });
});

describe('the wait of a writer among readers', () => {
  const reads = (...sections: [number, number][]): Map<number, number> => {
    const longest = new Map<number, number>();
    for (const [from, to] of sections) note(longest, from, to);
    return longest;
  };

  it('is compared with the longest section of any process that ended meanwhile', () => {
    const longest = longestOf([reads([0, 40], [100, 130], [990, 1_000]), reads([50, 170])]);
    expect(longestWithin(longest, 100, 199)).toBe(120);
    expect(longestWithin(longest, 0, 99)).toBe(40);
    expect(longestWithin(longest, 300, 800)).toBe(0);
    expect(longestWithin(longest, -Infinity, Infinity)).toBe(120);
  });

  it('is too long if it exceeds the bound plus the longest section meanwhile', () => {
    const longest = reads([1_000, 1_050], [5_000, 5_500]);
    const waits = [
      // Exactly the bound.
      { from: 1_000, to: 1_150 },
      { from: 1_010, to: 1_161 },
      // The reader of half a second ran at another time.
      { from: 2_000, to: 2_101 },
      { from: 5_000, to: 5_600 },
    ];
    expect(missesOf(waits, longest, 100)).toBe(2);
  });
});
