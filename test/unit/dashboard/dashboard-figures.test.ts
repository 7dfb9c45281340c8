import { describe, expect, it } from '@jest/globals';
import { longest, waitRows } from '../../../lib/dashboard/page/data.js';
import type { Overview } from '../../../lib/dashboard/wire.js';

/** An overview of processes whose snapshots are of different ages. */
function overviewOf(
  ...processes: readonly { age: number; hold: number; waits: readonly number[] }[]
): Overview {
  return {
    processes: processes.map(({ age, hold, waits }) => ({
      age,
      instance: null,
      status: { longestHold: hold, longestWait: Math.max(0, ...waits) },
      busiest:
        waits.length === 0
          ? []
          : [
              {
                key: 'seat',
                callers: waits.length,
                longest: Math.max(...waits),
                total: waits.reduce((total, wait) => total + wait, 0),
              },
            ],
    })),
  } as unknown as Overview;
}

describe('the figures of the lock dashboard', () => {
  it('count the age of each snapshot, in the tiles as in the table of waits', () => {
    const overview = overviewOf(
      { age: 4_000, hold: 0, waits: [100, 300] },
      { age: 0, hold: 2_000, waits: [1_000] },
    );
    const [row] = waitRows(overview);
    expect(row).toMatchObject({ callers: 3, longest: 4_300, total: 9_400, processes: 2 });
    expect(longest(overview, 'longestWait')).toBe(4_300);
    expect(longest(overview, 'longestHold')).toBe(2_000);
  });

  it('show nothing held and nothing waiting as 0, whatever the age of the snapshots', () => {
    const overview = overviewOf({ age: 4_000, hold: 0, waits: [] });
    expect(longest(overview, 'longestHold')).toBe(0);
    expect(longest(overview, 'longestWait')).toBe(0);
    expect(longest(overviewOf(), 'longestWait')).toBe(0);
  });
});
