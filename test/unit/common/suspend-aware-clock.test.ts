import { beforeEach, describe, expect, it } from '@jest/globals';
import { SuspendAwareClock } from '../../../lib/common/clock.js';
import type { MonotonicMs, WallClockMs } from '../../../lib/stores/port/index.js';

const HOUR = 3_600_000;
const EPOCH = 1_800_000_000_000;

describe('SuspendAwareClock', () => {
  let time: number;
  let ahead: number;
  let jumps: number;
  /** Called before each reading of a clock, where an interruption can happen. */
  let interrupt: () => void;
  let cautious: SuspendAwareClock;

  const at = (ms: number): MonotonicMs => ms as MonotonicMs;

  beforeEach(() => {
    time = 1_000;
    ahead = EPOCH;
    jumps = 0;
    interrupt = () => undefined;
    const clock = {
      monotonic: () => {
        interrupt();
        return at(time);
      },
      wall: () => {
        interrupt();
        return Math.floor(ahead + time) as WallClockMs;
      },
    };
    cautious = new SuspendAwareClock(clock, () => (jumps += 1));
  });

  it('F30: follows the monotonic clock while the wall clock does', () => {
    for (; time < 100_000; time += 7.3) expect(cautious.read()).toBe(time);
    expect(jumps).toBe(0);
  });

  it('F30: counts each forward jump of the wall clock, and no backward one', () => {
    ahead += HOUR;
    expect(cautious.read()).toBe(time + HOUR);
    time += 10;
    expect(cautious.read()).toBe(time + HOUR);
    ahead -= HOUR;
    expect(cautious.read()).toBe(time + HOUR);
    ahead += 5_000;
    expect(cautious.read()).toBe(time + HOUR + 5_000);
    expect(jumps).toBe(2);
  });

  it('F30: counts a wall clock that gains gradually', () => {
    for (; time < 1_001_000; time += 100) {
      ahead += 1;
      cautious.read();
    }
    expect(cautious.read()).toBeGreaterThan(time + 10_000 - 50);
    expect(cautious.read()).toBeLessThanOrEqual(time + 10_000);
  });

  it('F30: an interruption between two readings is neither a forward nor a backward jump', () => {
    for (let round = 0; round < 100; round++) {
      let readings = 0;
      const interruptedAt = round % 5;
      // The wall clock is set back now and then, at the time of a reading.
      if (round % 7 === 0) ahead -= 1_000;
      interrupt = () => (time += readings++ === interruptedAt ? 300 : 0);
      cautious.read(at(round % 2 === 0 ? time : time - 50));
    }
    interrupt = () => undefined;
    expect(cautious.read()).toBe(time);
    expect(jumps).toBe(0);
  });

  it('F30: converts earlier times by the jumps detected since', () => {
    ahead += 1_000;
    cautious.read();
    time = 2_000;
    ahead += 5_000;
    cautious.read();
    time = 3_000;
    expect(cautious.at(at(900))).toBe(900);
    expect(cautious.at(at(1_500))).toBe(2_500);
    expect(cautious.at(at(2_500))).toBe(8_500);
  });

  it('F30: after many jumps an earlier time counts as older than it was, never as younger', () => {
    for (let jump = 1; jump <= 100; jump++) {
      time += 100;
      ahead += 1_000;
      cautious.read();
    }
    expect(cautious.at(at(time))).toBe(cautious.read());
    expect(cautious.at(at(time - 150))).toBe(time - 150 + 98_000);
    expect(cautious.at(at(2_000))).toBe(2_000);
  });
});
