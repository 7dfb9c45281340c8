import { expect, it } from '@jest/globals';
import { readLabel, readLimit, writtenLabel, writtenLimit } from '../../../../lib/stores/port/limits.js';

it('limits and labels are read as they were written', () => {
  for (const limit of [1, 7, Infinity]) expect(readLimit(writtenLimit(limit))).toBe(limit);
  for (const label of [undefined, 'of two words', 'ä = %20']) {
    const written = writtenLabel(label);
    expect(written).not.toMatch(/\s/);
    expect(readLabel(written)).toBe(label);
  }
});
