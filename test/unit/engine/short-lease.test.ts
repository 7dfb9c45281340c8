import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../../lib/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { lockApps } from '../../support/lock-app.js';
import { SlowStore } from '../../support/slow-store.js';
import { elapse, rejectionOf } from '../../support/until.js';

inVirtualTime();

/** Round trip, ms. */
const DELAY = 40;

describe('a leaseTime of 10 ms on a store with a round trip of 40 ms', () => {
  const startApp = lockApps({ shutdownTimeout: 100 });

  it.each([
    ['the exclusive lock', {}],
    ['permits', { limit: 2, permits: 2 }],
  ] as const)(
    'B10, B11: fails its own caller only, even if another process contends: %s',
    async (_, options) => {
      const store = new SlowStore(new MemoryLockStore(), DELAY);
      const [app, other] = [await startApp({ store }), await startApp({ store })];
      let isContended = true;
      const contend = async (): Promise<void> => {
        while (isContended) await other.locks.withLock('key', options, () => elapse(5));
      };
      const contending = contend();
      await elapse(3 * DELAY);
      const waitTime = 100 * DELAY;
      // Shorter than the way of a pushed grant, too.
      const leaseTime = DELAY / 4;
      const start = performance.now();
      const short = rejectionOf(app.locks.acquire('key', { ...options, leaseTime, waitTime }));
      const others = [1, 2].map(() =>
        app.locks.withLock('key', { ...options, waitTime }, () => performance.now() - start),
      );
      const error = await short;
      expect(String(error)).toMatch(/reply took \d+ ms, and the leaseTime of 10 ms had passed/);
      for (const waited of await Promise.all(others)) expect(waited).toBeLessThan(waitTime / 2);
      isContended = false;
      await contending;
    },
  );
});
