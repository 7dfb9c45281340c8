import type { StoredHold, StoredLock, StoredWaiter, WallClockMs } from '../../port/lock-store.js';
import { limitOf } from './limit.js';
import { Script } from './script.js';

type Words = readonly (string | number)[];

export const inspectScript = new Script({
  name: 'inspect',
  keys: ['lock', 'queue', 'waiters'],
  args: [],
  decode(reply): StoredLock | null {
    const [limit, holders, waiters] = reply as [number?, Words?, Words?];
    if (limit === undefined || holders === undefined || waiters === undefined) return null;
    return {
      limit: limitOf(limit),
      holders: rowsOf(holders, 5).map(holdOf).sort(byAge),
      waiters: rowsOf(waiters, 4).map(waiterOf),
    };
  },
});

function holdOf([owner, token, since, left, label]: Words): StoredHold {
  return {
    owner: String(owner),
    token: token === '' ? undefined : Number(token),
    since: since === '' ? undefined : (Number(since) as WallClockMs),
    leaseLeft: Number(left) < 0 ? undefined : Number(left),
    label: labelOf(label),
  };
}

function waiterOf([owner, callers, limit, label]: Words): StoredWaiter {
  return {
    owner: String(owner),
    callers: Number(callers),
    limit: limitOf(Number(limit)),
    label: labelOf(label),
  };
}

function labelOf(word: string | number | undefined): string | undefined {
  return word === undefined || word === '' ? undefined : decodeURIComponent(String(word));
}

function byAge(one: StoredHold, other: StoredHold): number {
  return (one.token ?? 0) - (other.token ?? 0);
}

function rowsOf(words: Words, columns: number): Words[] {
  const rows: Words[] = [];
  for (let i = 0; i < words.length; i += columns) rows.push(words.slice(i, i + columns));
  return rows;
}
