import { describe, expect, it } from '@jest/globals';
import type { LockContext } from '../../lib/stores/etcd/locks/context.js';
import type { Entry } from '../../lib/stores/etcd/locks/entries.js';
import { LockReader } from '../../lib/stores/etcd/locks/lock-reader.js';

describe('the holders of a lock in etcd', () => {
  it('B20: are never ended by observers if they are renewed without writes', () => {
    const seen: string[] = [];
    const observed = { see: (_: string, name: string) => seen.push(name) };
    const own = { get: () => undefined };
    const reader = new LockReader({ observed, own } as unknown as LockContext);
    const [kept, other] = [true, false].map((isKept) => ({ isKept, name: `kept: ${String(isKept)}` }));
    reader.observe([kept, other] as Entry[]);
    expect(reader.leaseLeft({ ...kept, lease: 7_000 } as Entry)).toBe(7_000);
    expect(seen).toEqual(['kept: false']);
  });
});
