import { describe, expect, it } from '@jest/globals';
import { LockConflictError, type LockOptions } from '../../lib/index.js';
import type { LockApp } from '../support/lock-app.js';
import { SharingWitness } from '../support/sharing-witness.js';
import { within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

/** The outcomes of callers of one key when one of them has a conflicting limit, however long they wait. */
export function mixedLimitRules(context: ContractContext): void {
  describe('callers of one key with conflicting limits', () => {
    const optionsFor = (limit: number): LockOptions =>
      limit === Infinity ? { mode: 'shared', waitTime: 30_000 } : { limit, waitTime: 30_000 };

    /** A caller that records that it held the lock, or why not. */
    const work = async (
      app: LockApp,
      key: string,
      limit: number,
      witness: SharingWitness,
    ): Promise<unknown> => {
      try {
        await app.locks.withLock(key, optionsFor(limit), async () => {
          witness.enter(limit);
          await context.store.roundTrip();
          witness.leave(limit);
        });
        return 'served';
      } catch (error) {
        return error;
      }
    };

    it.each([
      [1, 3],
      [3, 1],
      [3, 5],
      [5, 3],
      [3, Infinity],
      [Infinity, 3],
    ])(
      'of twenty with limit %d only the one with %d fails, at any queue position, while the lock is held',
      async (limit, odd) => {
        const [holder, app] = await context.fleet(2);
        for (const position of [1, 2, 3, 4, 6, 12, 19]) {
          const key = context.key();
          const witness = new SharingWitness();
          const held = await holder.locks.acquire(key, optionsFor(limit));
          witness.enter(limit);
          const limits = Array.from({ length: 20 }, (_, n) => (n === position ? odd : limit));
          const calls = limits.map((each) => work(app, key, each, witness));
          const failing = Promise.resolve(calls.splice(position, 1)[0]);
          expect(await within(20_000, 'the conflict', failing)).toBeInstanceOf(LockConflictError);
          witness.leave(limit);
          await held.release();
          const outcomes = await within(30_000, 'all outcomes', Promise.all(calls));
          expect(witness.findings).toEqual([]);
          expect(outcomes).toEqual(Array(19).fill('served'));
          await context.nothingLeft();
        }
      },
      120_000,
    );
  });
}
