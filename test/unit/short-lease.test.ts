import { afterEach, describe, expect, it } from '@jest/globals';
import { LockUnavailableError, MemoryLockStore } from '../../lib/index.js';
import type { LockStore } from '../../lib/stores/port/index.js';
import { QuorumLockStore } from '../../lib/stores/quorum/quorum-lock-store.js';
import { inVirtualTime } from '../support/in-virtual-time.js';
import { LockApp } from '../support/lock-app.js';
import { SlowStore } from '../support/slow-store.js';
import { rejectionOf } from '../support/until.js';

inVirtualTime();

/** Round trip, ms, and a shorter lease. */
const DELAY = 40;
const leaseTime = 30;

const away = (): LockStore => new SlowStore(new MemoryLockStore(), DELAY, true);

describe.each([
  ['a store', away],
  ['a quorum', () => new QuorumLockStore([away(), away(), away()])],
] as const)('a leaseTime of 30 ms on %s with a round trip of 40 ms', (_, open) => {
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  it('B10, B11: fails its own caller only', async () => {
    const app = await LockApp.start({ store: open(), shutdownTimeout: 100 });
    apps.push(app);
    const start = performance.now();
    const short = rejectionOf(app.locks.acquire('key', { leaseTime }));
    const others = [1, 2].map(() => app.locks.withLock('key', () => performance.now() - start));
    const error = await short;
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(/reply took 4\d ms, and the leaseTime of 30 ms had passed/);
    for (const waited of await Promise.all(others)) expect(waited).toBeLessThan(8 * DELAY);
    expect(app.events('timeout')).toEqual([]);
    expect(app.log.matching("can't be acquired")).toEqual([]);
  });

  it('B11: fails with the same error without waiting', async () => {
    const app = await LockApp.start({ store: open(), shutdownTimeout: 100 });
    apps.push(app);
    const error = await rejectionOf(app.locks.tryAcquire('key', { leaseTime }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(/reply took 4\d ms, and the leaseTime of 30 ms had passed/);
  });
});
