import { describe, expect, it } from '@jest/globals';
import {
  countHolders,
  firstRoom,
  limitsAgree,
  readLimit,
  roomBehind,
  writtenLimit,
  readLabel,
  writtenLabel,
} from '../../lib/stores/port/limits.js';

const queue = (...limits: number[]): { limit: number }[] => limits.map((limit) => ({ limit }));
const ALL = Infinity;

describe('limits of queued requests', () => {
  it.each([
    ['nobody', [], 0],
    ['one who wants all of it', [1, 1, ALL], 1],
    ['readers up to the first writer', [ALL, ALL, 1, ALL], 2],
    ['as many as a semaphore has', [3, 3, 3, 3], 3],
    ['fewer than it has', [3, 3], 2],
  ])('%s hold it', (_, limits, count) => {
    expect(countHolders(queue(...limits))).toBe(count);
  });

  it.each([
    ['a lock that nobody asked for has room for all that the limit allows', [], 2, 2],
    ['a semaphore has room for those that are missing', [3, 3], 3, 1],
    ['a full one has none', [2, 2], 2, 0],
    ['nobody comes in beside one who has all of it', [1], 1, 0],
    ['a reader comes in beside readers', [ALL], ALL, ALL],
    ['but not before a writer who waits', [ALL, 1], ALL, 0],
    ['nor beside holders with another limit', [3], 2, 0],
  ])('%s', (_, limits, limit, room) => {
    expect(roomBehind(queue(...limits), limit)).toBe(room);
  });

  it('writers and readers go together, and a semaphore only with itself', () => {
    expect([limitsAgree(1, ALL), limitsAgree(ALL, 1), limitsAgree(3, 3)]).toEqual([true, true, true]);
    expect([limitsAgree(1, 3), limitsAgree(3, ALL), limitsAgree(2, 3)]).toEqual([false, false, false]);
  });

  it('there is room for a writer with the end of the last lease, and for a permit with that of the first', () => {
    expect(firstRoom(1, [30, 10, 20])).toBe(30);
    expect(firstRoom(3, [30, 10, 20])).toBe(10);
    expect(firstRoom(ALL, [])).toBeUndefined();
  });

  it('limits and labels are read as they were written', () => {
    for (const limit of [1, 7, ALL]) expect(readLimit(writtenLimit(limit))).toBe(limit);
    for (const label of [undefined, 'of two words', 'ä = %20']) {
      const written = writtenLabel(label);
      expect(written).not.toMatch(/\s/);
      expect(readLabel(written)).toBe(label);
    }
  });
});
