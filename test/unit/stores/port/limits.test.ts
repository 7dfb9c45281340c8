import { describe, expect, it } from '@jest/globals';
import {
  countHolders,
  firstRoom,
  limitsAgree,
  permitsOf,
  readLimit,
  roomBehind,
  writtenLimit,
  readLabel,
  writtenLabel,
} from '../../../../lib/stores/port/limits.js';

const asking = (limit: number, permits = 1): { limit: number; permits: number } => ({ limit, permits });
const ends = (times: readonly number[]): { end: number; permits: number }[] =>
  times.map((end) => ({ end, permits: 1 }));
const queue = (...limits: number[]): { limit: number; permits: number }[] =>
  limits.map((limit) => ({ limit, permits: 1 }));
const ALL = Infinity;

describe('limits in a queue', () => {
  it.each([
    ['of no requests, none is a holder', [], 0],
    ['only the first writer is a holder', [1, 1, ALL], 1],
    ['readers before the first writer are holders', [ALL, ALL, 1, ALL], 2],
    ['as many as a semaphore has permits are holders', [3, 3, 3, 3], 3],
    ['fewer requests than permits are all holders', [3, 3], 2],
  ])('%s', (_, limits, count) => {
    expect(countHolders(queue(...limits))).toBe(count);
  });

  it.each([
    ['an empty queue has room for as many as the limit allows', [], 2, 2],
    ['a semaphore has room for its free permits', [3, 3], 3, 1],
    ['a full semaphore has no room', [2, 2], 2, 0],
    ['there is no room beside a writer', [1], 1, 0],
    ['there is room for a reader beside readers', [ALL], ALL, ALL],
    ['there is no room for a reader behind a waiting writer', [ALL, 1], ALL, 0],
    ['there is no room beside holders with another limit', [3], 2, 0],
  ])('%s', (_, limits, limit, room) => {
    expect(roomBehind(queue(...limits), limit)).toBe(room);
  });

  it('writers and readers agree, and a semaphore only with the same limit', () => {
    expect([limitsAgree(1, ALL), limitsAgree(ALL, 1), limitsAgree(3, 3)]).toEqual([true, true, true]);
    expect([limitsAgree(1, 3), limitsAgree(3, ALL), limitsAgree(2, 3)]).toEqual([false, false, false]);
  });

  it('there is room for a writer at the end of the last lease, and for a permit at the end of the first', () => {
    expect(firstRoom(asking(1), ends([30, 10, 20]))).toBe(30);
    expect(firstRoom(asking(3), ends([30, 10, 20]))).toBe(10);
    expect(firstRoom(asking(ALL), ends([30, 10, 20]))).toBe(10);
    expect(firstRoom(asking(ALL), [])).toBeUndefined();
  });

  it.each<[string, number, number[], number]>([
    ['B58: holders are those whose permits fit together', 5, [2, 3, 1], 2],
    ['B58: one whose permits do not fit keeps those behind it waiting', 5, [2, 4, 1], 1],
    ['B58: one that takes all permits holds the lock alone', 3, [3, 1], 1],
  ])('%s', (_, limit, permits, count) => {
    expect(countHolders(permits.map((each) => asking(limit, each)))).toBe(count);
  });

  it('B58: room behind holders is the permits that they leave, and none behind a waiter', () => {
    expect(roomBehind([asking(5, 2), asking(5, 2)], 5)).toBe(1);
    expect(roomBehind([asking(5, 2), asking(5, 4)], 5)).toBe(0);
    expect(permitsOf([asking(5, 2), asking(5, 4)])).toBe(6);
  });

  it('B58: there is room for several permits as soon as enough leases have ended', () => {
    const leases = [
      { end: 30, permits: 1 },
      { end: 10, permits: 1 },
      { end: 20, permits: 2 },
    ];
    expect([1, 2, 3, 4, 5].map((permits) => firstRoom(asking(5, permits), leases))).toEqual([
      10, 10, 20, 20, 30,
    ]);
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
