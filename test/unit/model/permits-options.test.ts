import { describe, expect, it } from '@jest/globals';
import { LockOptionsError } from '../../../lib/index.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';

describe('B58: the option permits', () => {
  it('is 1 by default, and a whole number up to limit', () => {
    const resolved = [undefined, {}, { limit: 3 }, { limit: 3, permits: 3 }, { limit: 1, permits: 1 }].map(
      (options) => resolveLockOptions('acquire()', options, 0).permits,
    );
    expect(resolved).toEqual([1, 1, 1, 3, 1]);
  });

  it.each<[object, RegExp]>([
    [{ limit: 3, permits: 4 }, /permits must be a whole number from 1 to limit \(3\); got 4\. Ask for fewer/],
    [{ limit: 3, permits: 0 }, /from 1 to limit \(3\); got 0\./],
    [{ limit: 3, permits: 1.5 }, /got 1\.5\./],
    [{ limit: 1, permits: 2 }, /from 1 to limit \(1\); got 2\./],
    [
      { permits: 2 },
      /got permits 2 without limit\. Add limit, the number of permits that exist, such as limit: 10/,
    ],
    [{ mode: 'shared', permits: 1 }, /needs limit and excludes mode/],
  ])('rejects %j', (options, message) => {
    const resolve = (): unknown => resolveLockOptions('acquire()', options, 0);
    expect(resolve).toThrow(LockOptionsError);
    expect(resolve).toThrow(message);
  });
});
