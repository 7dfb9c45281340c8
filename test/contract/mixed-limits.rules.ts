import { describe, expect, it } from '@jest/globals';
import { LockConflictError, type LockHandle, type LockOptions } from '../../lib/index.js';
import type { LockApp } from '../support/lock-app.js';
import { queuedIn } from '../support/lock-app.js';
import { SharingWitness } from '../support/sharing-witness.js';
import { rejectionOf, within } from '../support/until.js';
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
      [3, 1],
      [3, 5],
      [5, 3],
      [3, Infinity],
      [Infinity, 3],
    ])(
      'of twenty with limit %d only the one with %d fails, at any queue position',
      async (limit, odd) => {
        const [holder, app] = await context.fleet(2);
        for (const position of [1, 2, 3, 4, 6, 12, 19]) {
          const key = context.key();
          const witness = new SharingWitness();
          // It holds a permit to the end, so that there is always a limit to conflict with.
          const held = await holder.locks.acquire(key, optionsFor(limit));
          witness.enter(limit);
          const limits = Array.from({ length: 20 }, (_, n) => (n === position ? odd : limit));
          const calls = limits.map((each) => work(app, key, each, witness));
          const outcomes = await within(30_000, 'all outcomes', Promise.all(calls));
          expect(witness.findings).toEqual([]);
          expect(outcomes.splice(position, 1)).toEqual([expect.any(LockConflictError)]);
          expect(outcomes).toEqual(Array(19).fill('served'));
          await held.release();
          await context.nothingLeft();
        }
      },
      120_000,
    );

    it('a queue position never passes to a caller of another limit when its caller gives up', async () => {
      const [holder, app] = await context.fleet(2);
      const key = context.key();
      const holders: LockHandle[] = [];
      for (const _ of [1, 2, 3]) holders.push(await holder.locks.acquire(key, optionsFor(3)));
      const leave = new AbortController();
      const aborted = rejectionOf(app.locks.acquire(key, { ...optionsFor(3), signal: leave.signal }));
      await queuedIn(app, key);
      const others = [5, 3, 1, 3, Infinity, 3].map((limit) => ({
        limit,
        outcome: app.locks.acquire(key, optionsFor(limit)).catch((error: unknown) => error as Error),
      }));
      leave.abort(new Error('enough'));
      expect(await aborted).toEqual(new Error('enough'));
      for (const { limit, outcome } of others) {
        if (limit !== 3)
          expect(await within(10_000, 'the refusal', outcome)).toBeInstanceOf(LockConflictError);
      }
      for (const held of holders) await held.release();
      for (const { limit, outcome } of others) {
        if (limit !== 3) continue;
        const held = await within(10_000, 'a permit', outcome);
        expect(held).not.toBeInstanceOf(Error);
        await (held as LockHandle).release();
      }
    });

    it('callers with a conflicting limit are rejected when they take over for one that gave up', async () => {
      const [holder, app] = await context.fleet(2);
      for (let round = 0; round < 5; round++) {
        const key = context.key();
        const held = await holder.locks.acquire(key, optionsFor(3));
        const leave = new AbortController();
        const first = rejectionOf(app.locks.acquire(key, { ...optionsFor(5), signal: leave.signal }));
        leave.abort(new Error('enough'));
        const options = { limit: 5, waitTime: 3_000 };
        const others = [1, 2, 3].map(() => rejectionOf(app.locks.acquire(key, options)));
        expect(await first).toEqual(new Error('enough'));
        for (const other of others) expect(await other).toBeInstanceOf(LockConflictError);
        await held.release();
        await context.nothingLeft();
      }
    }, 120_000);
  });
}
