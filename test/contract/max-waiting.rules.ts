import { describe, expect, it } from '@jest/globals';
import { fixed, LockOptionsError, LockQueueFullError, LockTimeoutError } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { rejectionOf } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const patient = { waitTime: 15_000 };

/** So many callers of a process wait for a key at most (`maxWaiting`). */
export function maxWaitingRules(context: ContractContext): void {
  describe('maxWaiting', () => {
    it('further callers of the process fail at once, and those who wait are served', async () => {
      const [app, holder] = await context.fleet(2);
      const key = context.key();
      for (const limit of [1, 2]) {
        const held = await Promise.all(
          Array.from({ length: limit }, () => holder.locks.acquire(key, { limit })),
        );
        app.seen.length = 0;
        const waiting = app.locks.acquire(key, { ...patient, limit, maxWaiting: 1 });
        await queuedIn(app, key);
        for (const call of [
          app.locks.acquire(key, { ...patient, limit, maxWaiting: 1 }),
          app.locks.tryAcquire(key, { ...patient, limit, maxWaiting: 1 }),
          app.locks.withLock(key, { ...patient, limit, maxWaiting: 0 }, () => undefined),
          app.locks.acquire(key, { ...patient, limit, maxWaiting: 1, retry: { backoff: fixed(5) } }),
        ]) {
          const error = await rejectionOf(call);
          expect(error).toBeInstanceOf(LockQueueFullError);
          expect(error).toMatchObject({ code: 'LOCK_QUEUE_FULL', keys: [key], waiting: 1 });
          expect((error as Error).message).toMatch(
            /no more callers of this process may wait for it: 1 wait.* raise maxWaiting/,
          );
        }
        expect(app.events('queue-full', key)).toHaveLength(4);
        // Other processes count for themselves, and waitTime 0 never waits.
        expect(await app.locks.tryAcquire(key, { limit, maxWaiting: 0 })).toBeNull();
        expect(
          await rejectionOf(app.locks.acquire(key, { limit, waitTime: 0, maxWaiting: 0 })),
        ).toBeInstanceOf(LockTimeoutError);
        await Promise.all(held.map((hold) => hold.release()));
        await (await waiting).release();
      }
      await context.nothingLeft();
    });

    it('0 lets nobody wait, but has whoever finds the lock free have it', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      for (const options of [{}, { limit: 2 }, { mode: 'shared' }] as const) {
        const lock = await app.locks.acquire(key, { ...patient, ...options, maxWaiting: 0 });
        expect(lock.isHeld).toBe(true);
        await lock.release();
      }
      const held = await other.locks.acquire(key);
      expect(await rejectionOf(app.locks.acquire([key, context.key()], { maxWaiting: 0 }))).toMatchObject({
        code: 'LOCK_QUEUE_FULL',
        keys: [key],
      });
      await held.release();
      await context.nothingLeft();
    });

    it('B52: branches that re-enter are neither counted nor refused', async () => {
      const app = await context.app();
      const key = context.key();
      await app.locks.withLock(key, async () => {
        const branch = (): Promise<number> =>
          app.locks.withLock(key, { ...patient, maxWaiting: 0 }, ({ token }) => token);
        expect(new Set(await Promise.all([branch(), branch(), branch()])).size).toBe(1);
      });
      await context.nothingLeft();
    });

    it('F40: is a whole number from 0, or Infinity', async () => {
      const app = await context.app();
      for (const maxWaiting of [-1, 1.5, NaN, '3', null]) {
        const call = (): Promise<unknown> =>
          app.locks.acquire(context.key(), { maxWaiting: maxWaiting as number });
        const error = await rejectionOf(Promise.resolve().then(call));
        expect(error).toBeInstanceOf(LockOptionsError);
        expect((error as Error).message).toContain('maxWaiting must be a whole number from 0, or Infinity');
      }
    });
  });
}
