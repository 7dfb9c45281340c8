import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Alarms, Reminder } from '../../lib/engine/alarms.js';
import { later, type Clock } from '../../lib/engine/clock.js';
import type { MonotonicMs, WallClockMs } from '../../lib/index.js';

const clock: Clock = {
  monotonic: () => performance.now() as MonotonicMs,
  wall: () => Date.now() as WallClockMs,
};

describe('Alarms', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('rings each alarm in its turn, on one native timer', () => {
    const alarms = new Alarms(clock, true);
    const rung: number[] = [];
    for (const due of [30, 10, 20]) {
      alarms.set(new Reminder(() => rung.push(due)), later(clock.monotonic(), due));
    }
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(15);
    expect(rung).toEqual([10]);
    jest.advanceTimersByTime(15);
    expect(rung).toEqual([10, 20, 30]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not ring what was cleared, and rings what was moved at its new time', () => {
    const alarms = new Alarms(clock, true);
    const rung: string[] = [];
    const cleared = new Reminder(() => rung.push('cleared'));
    const moved = new Reminder(() => rung.push('moved'));
    alarms.set(cleared, later(clock.monotonic(), 10));
    alarms.set(moved, later(clock.monotonic(), 10));
    alarms.clear(cleared);
    alarms.set(moved, later(clock.monotonic(), 50));
    jest.advanceTimersByTime(49);
    expect(rung).toEqual([]);
    jest.advanceTimersByTime(2);
    expect(rung).toEqual(['moved']);
  });

  it('lets alarms that are nearly due go along', () => {
    const alarms = new Alarms(clock, true, 5);
    const rung: number[] = [];
    for (const due of [10, 14, 16]) {
      alarms.set(new Reminder(() => rung.push(due)), later(clock.monotonic(), due));
    }
    jest.advanceTimersByTime(10);
    expect(rung).toEqual([10, 14]);
  });

  it('leaves no timer when its last alarm is cleared', () => {
    const alarms = new Alarms(clock, true);
    const reminder = new Reminder(() => undefined);
    alarms.set(reminder, later(clock.monotonic(), 10));
    alarms.clear(reminder);
    expect(jest.getTimerCount()).toBe(0);
  });
});
