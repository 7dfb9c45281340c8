import { expect, it } from '@jest/globals';
import {
  firstRoom,
  readLabel,
  readLimit,
  writtenLabel,
  writtenLimit,
} from '../../../../lib/stores/port/limits.js';

it('limits and labels are read as they were written', () => {
  for (const limit of [1, 7, Infinity]) expect(readLimit(writtenLimit(limit))).toBe(limit);
  for (const label of [undefined, 'of two words', 'ä = %20']) {
    const written = writtenLabel(label);
    expect(written).not.toMatch(/\s/);
    expect(readLabel(written)).toBe(label);
  }
});

it('there is room for a writer at the end of the last lease, and for a permit at the end of the first', () => {
  const leases = [30, 10, 20].map((end) => ({ end, permits: 1 }));
  expect(firstRoom({ limit: 1, permits: 1 }, leases)).toBe(30);
  expect(firstRoom({ limit: 3, permits: 1 }, leases)).toBe(10);
});
