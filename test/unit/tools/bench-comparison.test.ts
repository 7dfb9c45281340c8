import { describe, expect, it } from '@jest/globals';
import { withBoth, type Gauge } from '../../../bench/against/compare.mjs';
import { holdsAllOf } from '../../../.scripts/setup.mjs';
import { judge, ratioOf } from '../../../bench/against/ratios.mjs';

describe('the ratio of two builds', () => {
  it('compares adjacent rounds, so that a slow moment of the machine does not count', () => {
    expect(ratioOf([200, 20, 220], [100, 10, 100], 'more')).toEqual({ median: 2, min: 2, max: 2.2 });
  });

  it('is above 1 for a better figure, also where less is better', () => {
    expect(ratioOf([5], [10], 'less').median).toBe(2);
    expect(ratioOf([5], [10], 'more').median).toBe(0.5);
  });

  it('is 1 if both figures are 0, and infinite if only the other one is', () => {
    expect(ratioOf([0], [0], 'more').median).toBe(1);
    expect(ratioOf([10], [0], 'more').median).toBe(Infinity);
  });
});

describe('the verdict on a row', () => {
  it('is good after one attempt of at least half', () => {
    expect(judge([0.5])).toBe('good');
    expect(judge([0.2, 0.49, 0.6])).toBe('good');
  });

  it('is slower only after three attempts below half', () => {
    expect(judge([0.49])).toBe('again');
    expect(judge([0.2, 0.3])).toBe('again');
    expect(judge([0.2, 0.3, 0.49])).toBe('slower');
  });
});

describe('the measurement of two builds', () => {
  class Script {
    readonly taken: string[] = [];
    readonly closed: string[] = [];
    constructor(private readonly other: { open?: Error; failAt?: number } = {}) {}

    get gauge(): Gauge {
      return {
        better: 'more',
        open: async (_context, build) => {
          const name = build === undefined ? 'now' : 'then';
          if (build !== undefined && this.other.open) throw this.other.open;
          let samples = 0;
          return {
            sample: async () => {
              samples++;
              if (build !== undefined && samples === this.other.failAt) throw new Error('Broke\nat once');
              this.taken.push(name);
              return name === 'now' ? 30 : 10;
            },
            close: async () => this.closed.push(name),
          };
        },
      };
    }
  }

  it('alternates after a warm-up of each', async () => {
    const script = new Script();
    const result = await withBoth(script.gauge, {}, 'file:other', (measure) => measure(2));
    expect(script.taken).toEqual(['now', 'then', 'now', 'then', 'then', 'now']);
    expect(result).toMatchObject({ now: { median: 30 }, then: { median: 10 }, ratio: { median: 3 } });
    expect(script.closed).toEqual(['then', 'now']);
  });

  it('is skipped with the reason if the other build lacks the feature or fails', async () => {
    const unknown = new Script({ open: new Error('LockOptionsError: unknown option "fair".\nat x') });
    expect(await withBoth(unknown.gauge, {}, 'file:other', (measure) => measure(2))).toEqual({
      missing: 'LockOptionsError: unknown option "fair".',
    });
    expect(unknown.closed).toEqual(['now']);
    for (const failAt of [1, 3]) {
      const broken = new Script({ failAt });
      expect(await withBoth(broken.gauge, {}, 'file:other', (measure) => measure(2))).toEqual({
        missing: 'Broke',
      });
      expect(broken.closed).toEqual(['then', 'now']);
    }
  });

  it('is not skipped if this build fails', async () => {
    const gauge: Gauge = {
      better: 'more',
      open: async (_context, build) => {
        if (build === undefined) throw new Error('broken here');
        return { sample: async () => 1, close: async () => undefined };
      },
    };
    await expect(withBoth(gauge, {}, 'file:other', (measure) => measure(1))).rejects.toThrow('broken here');
  });
});

describe('the dependencies of the other revision', () => {
  const installed = {
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0' },
  };

  it('are those of this folder if it has all of them', () => {
    expect(holdsAllOf(installed, { '': {}, 'node_modules/a': { version: '1.0.0' } })).toBe(true);
    expect(
      holdsAllOf(installed, {
        'node_modules/for-another-system': { version: '1.0.0', optional: true },
        sample: { version: '9.0.0' },
      }),
    ).toBe(true);
  });

  it('are installed separately if one is missing or has another version', () => {
    expect(holdsAllOf(installed, { 'node_modules/c': { version: '1.0.0' } })).toBe(false);
    expect(holdsAllOf(installed, { 'node_modules/b': { version: '2.0.1' } })).toBe(false);
  });
});
