import { describe, expect, it } from '@jest/globals';
import type { MonotonicMs } from '../../lib/index.js';
import type { Entry } from '../../lib/stores/etcd/locks/entries.js';
import { Observations } from '../../lib/stores/etcd/locks/lock-reader.js';

function holder(key: string, modified: number, more: Partial<Entry> = {}): Entry {
  const facts = {
    limit: 1,
    lease: 30_000,
    isKept: false,
    callers: 1,
    token: undefined,
    offset: 0,
    leaseId: 1,
  };
  const rest = { since: undefined, label: undefined, created: modified, modified };
  return {
    key,
    name: `${key}/x/other:${String(modified)}`,
    owner: `other:${String(modified)}`,
    isHeld: true,
    ...facts,
    ...rest,
    ...more,
  };
}

describe('observed leases in etcd', () => {
  it('cost the same for each read, however many locks were seen', () => {
    let now = 0;
    const observations = new Observations(() => now as MonotonicMs);
    const before = process.cpuUsage();
    for (let index = 0; index < 100_000; index++) {
      now = index;
      const key = `key-${String(index)}`;
      observations.note(key, [holder(key, index + 1)]);
    }
    // Processor time of this process: other processes may keep the machine busy.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
    expect(observations.expiresAt(holder('key-99999', 100_000))).toBeCloseTo(99_999 + 30_320);
  });

  it('are dropped with their holders', () => {
    const observations = new Observations(() => 0 as MonotonicMs);
    for (let index = 1; index <= 10; index++) observations.note('key', [holder('key', index)]);
    expect(observations.expiresAt(holder('key', 9))).toBe(Infinity);
    expect(observations.expiresAt(holder('key', 10))).toBeLessThan(Infinity);
    observations.note('key', []);
    expect(observations.expiresAt(holder('key', 10))).toBe(Infinity);
  });

  it('are dropped long after they have expired, if no client reads the lock any more', () => {
    let now = 0;
    const observations = new Observations(() => now as MonotonicMs);
    const old = holder('old', 1);
    observations.note('old', [old]);
    now = 200_000;
    for (let index = 0; index < 2_000; index++)
      observations.note(`key-${String(index)}`, [holder(`key-${String(index)}`, 2)]);
    expect(observations.expiresAt(old)).toBe(Infinity);
  });

  it('B20: never end a hold that is renewed without writes', () => {
    const observations = new Observations(() => 0 as MonotonicMs);
    const kept = holder('key', 1, { isKept: true });
    observations.note('key', [kept]);
    observations.promoted('key', [kept]);
    expect(observations.expiresAt(kept)).toBe(Infinity);
  });
});
