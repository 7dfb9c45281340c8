import { describe, expect, it } from '@jest/globals';
import type { CallbackTimer, TimerQueue } from '../../../../lib/common/timer-queue.js';
import type { MonotonicMs } from '../../../../lib/stores/port/index.js';
import { ObservedLeases } from '../../../../lib/stores/ordered/observed-leases.js';

/** Observed leases, whose timers fire as the time passes; and the records that were to be deleted. */
function scene() {
  let now = 1_000;
  let failure: Error | undefined;
  const set = new Set<CallbackTimer>();
  const timers = {
    set: (timer: CallbackTimer, dueAt: MonotonicMs) => {
      timer.dueAt = dueAt;
      set.add(timer);
    },
    clear: (timer: CallbackTimer) => set.delete(timer),
  } as unknown as TimerQueue;
  const ended: string[] = [];
  const observed = new ObservedLeases({ now: () => now as MonotonicMs }, timers, (_key, id, version) => {
    ended.push(`${id} ${String(version)}`);
    return failure === undefined ? Promise.resolve() : Promise.reject(failure);
  });
  return {
    observed,
    pass: async (ms: number) => {
      now += ms;
      for (const timer of set) {
        if (timer.dueAt > now) continue;
        set.delete(timer);
        timer.fire(now as MonotonicMs);
      }
      await new Promise((resolve) => setImmediate(resolve));
    },
    ended,
    fail: (error: Error | undefined) => {
      failure = error;
    },
    timers: () => set.size,
  };
}

describe('observed leases', () => {
  it('are over once their record was seen unchanged for longer than they last', async () => {
    const { observed, pass, ended, timers } = scene();
    expect(observed.see('key', 'record', 1, 1_000)).toBe(1_000);
    await pass(1_000);
    expect(observed.see('key', 'record', 1, 1_000)).toBeLessThanOrEqual(30);
    await pass(29);
    expect(ended).toEqual([]);
    await pass(16);
    expect(ended).toEqual(['record 1']);
    expect(timers()).toBe(0);
  });

  it('begin anew with a record that has changed, but not with a late read', async () => {
    const { observed, pass, ended } = scene();
    observed.see('key', 'record', 1, 1_000);
    await pass(900);
    expect(observed.see('key', 'record', 2, 1_000)).toBe(1_000);
    await pass(900);
    expect(observed.see('key', 'record', 1, 1_000)).toBe(130);
    expect(ended).toEqual([]);
    await pass(145);
    expect(ended).toEqual(['record 2']);
  });

  it('are ended again if the record could not be deleted', async () => {
    const { observed, pass, ended, fail } = scene();
    observed.see('key', 'record', 1, 1_000);
    fail(new Error('unreachable'));
    await pass(1_100);
    fail(undefined);
    expect(ended).toHaveLength(1);
    expect(observed.see('key', 'record', 1, 1_000)).toBe(0);
    await pass(500);
    expect(ended).toHaveLength(2);
    await pass(5_000);
    expect(ended).toHaveLength(2);
  });

  it('are dropped with their holders, and when versions may start again', async () => {
    const { observed, pass, ended, timers } = scene();
    for (let index = 1; index <= 10; index++) {
      observed.keepOnly('key', [String(index)]);
      observed.see('key', String(index), index, 1_000);
      expect(timers()).toBe(1);
    }
    observed.see('other', 'record', 11, 1_000);
    observed.keepOnly('key', []);
    expect(timers()).toBe(1);
    observed.clear();
    expect(timers()).toBe(0);
    await pass(2_000);
    expect(ended).toEqual([]);
  });

  it('cost the same for each read, however many locks were seen, and are dropped when they are over', async () => {
    const { observed, pass, ended, timers } = scene();
    const lease = 30_000;
    const before = process.cpuUsage();
    // 1,000 locks a second, over 100 seconds.
    for (let first = 0; first < 100_000; first += 10_000) {
      for (let index = first; index < first + 10_000; index++) {
        const key = String(index);
        observed.keepOnly(key, [key]);
        observed.see(key, key, index, lease);
      }
      await pass(10_000);
    }
    // Half a second of processor time on an idle machine, two minutes if each read walks through all locks. A busy machine
    // may need several times as much for the same instructions.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(10_000);
    expect(timers()).toBeLessThanOrEqual(40_000);
    expect(ended).toHaveLength(100_000 - timers());
    // Nothing is known of the first one any more.
    expect(observed.see('0', '0', 0, lease)).toBe(lease);
  });
});
