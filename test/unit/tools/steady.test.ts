import { describe, expect, it } from '@jest/globals';
import { problemsIn, type SteadySample } from '../../soak/steady.mjs';

const minute: SteadySample = { rate: 1_000, cpuPerHold: 50, heap: 60e6, timers: 15, entries: 150 };
const rest = { entriesAtStart: 3, entriesAtRest: 5, writesAtRest: 0 };
/** The first minute is warm-up; the last one differs from the second. */
const run = (last: Partial<SteadySample>): SteadySample[] => [
  { ...minute, rate: 500, cpuPerHold: 90 },
  minute,
  { ...minute, ...last },
];

describe('F54: a steady run', () => {
  it('has no findings if nothing changes after the first minute', () => {
    expect(problemsIn(run({}), rest)).toEqual([]);
  });

  it('may be slower on a busy machine, but holds must not cost more', () => {
    expect(problemsIn(run({ rate: 700, cpuPerHold: 51 }), rest)).toEqual([]);
    expect(problemsIn(run({ rate: 700, cpuPerHold: 71 }), rest)).toEqual([
      'the last minute made 70 % of the holds of the second, each for 142 % of the processor time',
    ]);
  });

  it('finds a store that becomes slower, although holds cost their processes the same', () => {
    expect(problemsIn(run({ rate: 490 }), rest)).toEqual([
      'the last minute made 49 % of the holds of the second, each for 100 % of the processor time',
    ]);
  });

  it('finds growth in the processes', () => {
    expect(problemsIn(run({ heap: 75e6 }), rest)).toEqual(['the heaps grew by 15.0 MB']);
    expect(problemsIn(run({ timers: 4_000 }), rest)).toEqual(['timers grew from 15 to 4000']);
  });

  it('finds growth in the store, under load and after it', () => {
    expect(problemsIn(run({ entries: 9_000 }), rest)).toEqual([
      'what the store keeps under load grew from at most 150 to at least 9000 entries',
    ]);
    expect(problemsIn(run({}), { ...rest, entriesAtRest: 60_003 })).toEqual([
      '60000 entries were left in the store',
    ]);
  });

  it('allows for entries that a store sweeps now and then', () => {
    const kept = (...counts: number[]): SteadySample[] => counts.map((entries) => ({ ...minute, entries }));
    expect(problemsIn(kept(900, 1_400, 2_900, 1_200, 2_300), rest)).toEqual([]);
    expect(problemsIn(kept(900, 1_400, 1_900, 3_100, 3_900), rest)).toHaveLength(1);
  });

  it('finds writes while no lock is in use', () => {
    expect(problemsIn(run({}), { ...rest, writesAtRest: 351 })).toEqual(['351 writes at rest']);
  });
});
