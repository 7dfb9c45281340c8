import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TimerQueue, CallbackTimer } from '../../lib/common/timer-queue.js';
import { later, type Clock } from '../../lib/common/clock.js';
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

  it('fires each timer in its turn, on one native timer', () => {
    const timers = new TimerQueue(clock, true);
    const rung: number[] = [];
    for (const due of [30, 10, 20]) {
      timers.set(new CallbackTimer(() => rung.push(due)), later(clock.monotonic(), due));
    }
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(15);
    expect(rung).toEqual([10]);
    jest.advanceTimersByTime(15);
    expect(rung).toEqual([10, 20, 30]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not fire what was cleared, and fires what was moved at its new time', () => {
    const timers = new TimerQueue(clock, true);
    const rung: string[] = [];
    const cleared = new CallbackTimer(() => rung.push('cleared'));
    const moved = new CallbackTimer(() => rung.push('moved'));
    timers.set(cleared, later(clock.monotonic(), 10));
    timers.set(moved, later(clock.monotonic(), 10));
    timers.clear(cleared);
    timers.set(moved, later(clock.monotonic(), 50));
    jest.advanceTimersByTime(49);
    expect(rung).toEqual([]);
    jest.advanceTimersByTime(2);
    expect(rung).toEqual(['moved']);
  });

  it('lets timers that are nearly due go along', () => {
    const timers = new TimerQueue(clock, true, 5);
    const rung: number[] = [];
    for (const due of [10, 14, 16]) {
      timers.set(new CallbackTimer(() => rung.push(due)), later(clock.monotonic(), due));
    }
    jest.advanceTimersByTime(10);
    expect(rung).toEqual([10, 14]);
  });

  it('leaves no timer when its last timer is cleared', () => {
    const timers = new TimerQueue(clock, true);
    const reminder = new CallbackTimer(() => undefined);
    timers.set(reminder, later(clock.monotonic(), 10));
    timers.clear(reminder);
    expect(jest.getTimerCount()).toBe(0);
  });
});
