import { describe, expect, it } from '@jest/globals';
import { elapse, next } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

export function crashRules(context: ContractContext): void {
  describe('crashes', () => {
    it('B20, F55, B58: a crash frees the lock in time for a caller that arrives at any time afterwards', async () => {
      // Covered by the run in real time (`zookeeperInRealTime`).
      if (context.store.hasSessionsInRealTime === true) return;
      const watchdogTimeout = 4_000;
      const bound = context.freedAfter(watchdogTimeout);
      const { store, die } = await context.mortalStore();
      const holder = await context.app({ store, watchdogTimeout });
      const [key, unseen, shared] = [context.key(), context.key(), context.key()];
      const tokens = await Promise.all([holder.locks.acquire(key), holder.locks.acquire(unseen)]);
      if (!context.isExclusive) await holder.locks.acquire(shared, { limit: 4, permits: 3 });
      await next(holder.locks.events, (event) => event.type === 'renewed');
      await die();
      const start = performance.now();
      await elapse(watchdogTimeout / 2);
      const soon = await context.app();
      expect(await soon.locks.tryAcquire(key)).toBeNull();
      if (!context.isExclusive)
        expect(await soon.locks.tryAcquire(shared, { limit: 4, permits: 2 })).toBeNull();
      const second = await soon.locks.acquire(key, { waitTime: 60_000 });
      // The waiter polls once a second where the store pushes nothing.
      expect(performance.now() - start).toBeLessThan(bound + 1_000);
      await elapse(Math.max(0, start + bound - performance.now()));
      const late = await context.app();
      const third = await late.locks.tryAcquire(unseen);
      expect(third?.token).toBeGreaterThan(Math.max(...tokens.map(({ token }) => token)));
      // All permits of the hold are free.
      const whole = await late.locks.tryAcquire(shared, context.isExclusive ? {} : { limit: 4, permits: 4 });
      expect(whole).not.toBeNull();
      await Promise.all([second.release(), third?.release(), whole?.release()]);
    });
  });
}
