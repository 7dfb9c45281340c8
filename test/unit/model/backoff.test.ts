import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backoff, LockOptionsError, type Backoff } from '../../../lib/index.js';

const none = (): number => 0;
const nearlyOne = (): number => 1 - Number.EPSILON;

describe('backoff', () => {
  const firstPauses = (pauses: Backoff, random: () => number): number[] =>
    [1, 2, 3, 4, 5, 6, 7].map((tries) => Math.round(pauses.pauseAfter(tries, random)));

  it('fixed: every pause is the same', () => {
    expect(firstPauses(backoff.fixed(120), Math.random)).toEqual(Array(7).fill(120));
    expect(backoff.fixed(0.5 + 1).pauseAfter(1)).toBe(2);
  });

  it('exponential: the pauses double from min to max', () => {
    const doubling = backoff.exponential({ min: 10, max: 200, jitter: 0 });
    expect(firstPauses(doubling, Math.random)).toEqual([10, 20, 40, 80, 160, 200, 200]);
    expect(doubling.pauseAfter(100_000)).toBe(200);
  });

  it('exponential: jitter is the random part of a pause', () => {
    const half = backoff.exponential({ min: 100, max: 1_000, jitter: 0.5 });
    expect(firstPauses(half, none)).toEqual([100, 100, 200, 400, 500, 500, 500]);
    expect(firstPauses(half, nearlyOne)).toEqual([150, 200, 400, 800, 1_000, 1_000, 1_000]);
    const whole = backoff.exponential({ min: 100, max: 1_000, jitter: 1 });
    expect(firstPauses(whole, none)).toEqual(Array(7).fill(100));
    expect(firstPauses(whole, nearlyOne)).toEqual([200, 300, 500, 900, 1_000, 1_000, 1_000]);
  });

  it('exponential: by default from 50 to 1000 ms, half of it random', () => {
    const pauses = (random: () => number): number[] => firstPauses(backoff.exponential(), random);
    expect(pauses(none)).toEqual([50, 50, 100, 200, 400, 500, 500]);
    expect(pauses(nearlyOne)).toEqual([75, 100, 200, 400, 800, 1_000, 1_000]);
    const undefinedOnes = { min: undefined, max: undefined, jitter: undefined };
    expect(firstPauses(backoff.exponential(undefinedOnes), none)).toEqual(pauses(none));
  });

  it('no pause is shorter than min or longer than max, and a larger random number gives a longer one', () => {
    const time = fc.integer({ min: 1, max: 2 ** 31 - 1 });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        time,
        time,
        share,
        fc.integer({ min: 1, max: 2_000 }),
        chance,
        (a, b, jitter, tries, by) => {
          const [min, max] = [Math.min(a, b), Math.max(a, b)];
          const pauses = backoff.exponential({ min, max, jitter });
          const pause = pauses.pauseAfter(tries, () => by);
          expect(pause).toBeGreaterThanOrEqual(min);
          expect(pause).toBeLessThanOrEqual(max);
          expect(pauses.pauseAfter(tries, none)).toBeLessThanOrEqual(pause);
        },
      ),
    );
  });

  it('is immutable', () => {
    const fixed = backoff.fixed(5) as unknown as Record<string, unknown>;
    expect(() => (fixed['min'] = 7)).toThrow(TypeError);
    expect(() => (fixed['pauseAfter'] = () => 0)).toThrow(TypeError);
  });

  it.each([
    ['nothing', undefined, 'undefined'],
    ['0', 0, '0'],
    ['Infinity', Infinity, 'Infinity'],
    ['a number that is too large', 2 ** 31, '2147483648'],
    ['a string', '50', "'50'"],
  ])('F40: fixed rejects %s', (_, ms, shown) => {
    const make = (): unknown => backoff.fixed(ms as number);
    expect(make).toThrow(LockOptionsError);
    expect(make).toThrow(
      `backoff.fixed(): ms must be a number of milliseconds from 1 to 2147483647; got ${shown}.`,
    );
  });

  it.each<[options: unknown, message: string]>([
    [null, 'backoff.exponential(): options must be an object; got null.'],
    [{ factor: 2 }, 'backoff.exponential(): unknown option "factor". Known options are min, max, jitter.'],
    [{ min: 0 }, 'min must be a number of milliseconds from 1 to 2147483647; got 0.'],
    [{ min: '50' }, "min must be a number of milliseconds from 1 to 2147483647; got '50'."],
    [{ max: Infinity }, 'max must be a number of milliseconds from 1 to 2147483647; got Infinity.'],
    [{ min: 300, max: 200 }, 'min must be at most max; got 300, and max is 200.'],
    [{ min: 2_000 }, 'min must be at most max; got 2000, and max is 1000, its default; give a larger one.'],
    [{ jitter: 1.1 }, 'jitter must be a number from 0 to 1; got 1.1.'],
    [{ jitter: NaN }, 'jitter must be a number from 0 to 1; got NaN.'],
  ])('F40: exponential rejects %j', (options, message) => {
    const make = (): unknown => backoff.exponential(options as object);
    expect(make).toThrow(LockOptionsError);
    expect(make).toThrow(message);
  });
});
