import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CallbackTimer, TimerQueue } from '../../../lib/common/timer-queue.js';
import { later, type Clock } from '../../../lib/common/clock.js';
import type { MonotonicMs, WallClockMs } from '../../../lib/stores/port/index.js';

const clock: Clock = {
  monotonic: () => performance.now() as MonotonicMs,
  wall: () => Date.now() as WallClockMs,
};

describe('TimerQueue', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('fires the timers in order, with one native timer', () => {
    const timers = new TimerQueue(clock, true);
    const fired: number[] = [];
    for (const due of [30, 10, 20]) {
      timers.set(new CallbackTimer(() => fired.push(due)), later(clock.monotonic(), due));
    }
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(15);
    expect(fired).toEqual([10]);
    jest.advanceTimersByTime(15);
    expect(fired).toEqual([10, 20, 30]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not fire a cleared timer, and fires a moved one at its new time', () => {
    const timers = new TimerQueue(clock, true);
    const fired: string[] = [];
    const cleared = new CallbackTimer(() => fired.push('cleared'));
    const moved = new CallbackTimer(() => fired.push('moved'));
    timers.set(cleared, later(clock.monotonic(), 10));
    timers.set(moved, later(clock.monotonic(), 10));
    timers.clear(cleared);
    timers.set(moved, later(clock.monotonic(), 50));
    jest.advanceTimersByTime(49);
    expect(fired).toEqual([]);
    jest.advanceTimersByTime(2);
    expect(fired).toEqual(['moved']);
  });

  it('B14: uses few different delays, since Node keeps a list for each, even with many near timers before a far one', () => {
    const delays = new Set<number>();
    let now = 0;
    let native: { readonly fire: () => void; readonly at: number } | undefined;
    const counted: Clock = {
      monotonic: () => now as MonotonicMs,
      wall: () => now as WallClockMs,
      timers: {
        set: (fire, delay) => {
          delays.add(delay);
          native = { fire, at: now + delay };
        },
        clear: () => (native = undefined),
      },
    };
    const timers = new TimerQueue(counted, false);
    timers.set(new CallbackTimer(() => undefined), 600_000 as MonotonicMs);
    while (now < 300_000) {
      const near = new CallbackTimer(() => undefined);
      timers.set(near, (now + 5) as MonotonicMs);
      timers.clear(near);
      // The native timer fires early, and is set for the far one.
      now = native?.at ?? now;
      native?.fire();
    }
    expect(delays.size).toBeLessThan(20);
  });

  it('fires a far timer at its time, although its native timer fires early', () => {
    const timers = new TimerQueue(clock, true);
    const fired = jest.fn();
    timers.set(new CallbackTimer(fired), later(clock.monotonic(), 599_999));
    jest.advanceTimersByTime(599_998);
    expect(fired).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledTimes(1);
  });

  it.each([
    [true, ['input', 'timer']],
    [false, ['timer', 'input']],
  ])('fires after pending input was read, with readsInputFirst: %p', (readsInputFirst, order) => {
    const timers = new TimerQueue(clock, true, readsInputFirst);
    const seen: string[] = [];
    timers.after(10, () => seen.push('timer'));
    setTimeout(() => seen.push('input'), 10);
    jest.advanceTimersByTime(11);
    expect(seen).toEqual(order);
  });

  it('drops its timers and ends limited waits when it is closed', async () => {
    const timers = new TimerQueue(clock, true);
    const fired: string[] = [];
    timers.after(10, () => fired.push('dropped'));
    const limited = timers.within(10_000, new Promise(() => undefined));
    timers.close();
    await limited;
    await timers.within(10_000, new Promise(() => undefined));
    timers.after(10, () => fired.push('too late'));
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(20);
    expect(fired).toEqual([]);
  });
});

it('an empty timer queue keeps no process alive, and serves later timers', async () => {
  const countNative = (): number =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = countNative();
  const timers = new TimerQueue(clock, true);
  for (const ms of [20, 30]) {
    const cleared = timers.after(ms, () => {
      throw new Error('fired though it was cleared');
    });
    expect(countNative()).toBe(before + 1);
    timers.clear(cleared);
    expect(countNative()).toBe(before);
  }
  const waited = performance.now();
  await new Promise<void>((resolve) => {
    timers.after(40, resolve);
    expect(countNative()).toBe(before + 1);
  });
  expect(performance.now() - waited).toBeGreaterThanOrEqual(40);
  // A timer from an earlier test may have fired meanwhile.
  expect(countNative()).toBeLessThanOrEqual(before);
});
