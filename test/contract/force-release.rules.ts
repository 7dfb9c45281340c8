import { describe, expect, it } from '@jest/globals';
import type { LockOptions } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const kinds: [string, LockOptions, number][] = [
  ['a single try', { waitTime: 0 }, 1],
  ['a single try of a reader', { waitTime: 0, mode: 'shared' }, 1],
  ['a single try for a share', { waitTime: 0, limit: 2 }, 1],
  ['a call with retry', { retry: {} }, 1],
  ['a call that waits', {}, 1],
  ['a reader that waits', { mode: 'shared' }, 1],
  ['a call for several locks', {}, 2],
  ['a single try for several locks', { waitTime: 0 }, 2],
];

/** Locks that are broken by force in the moment in which they are granted. */
export function forceReleaseRules(context: ContractContext): void {
  describe('forceRelease in the moment of a grant', () => {
    it.each(kinds)('B23: %s never believes in a hold that was broken', async (_, options, size) => {
      // No renewal tells of a loss in this test.
      const [app, operator] = await context.fleet(2, { watchdogTimeout: 600_000 });
      const keyTogether = context.keysTogether();
      const keys = Array.from({ length: size }, keyTogether).sort();
      const [key = ''] = keys;
      // Whoever has waited once hears of locks that are broken.
      const held = await operator.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(app, key);
      await held.release();
      await (await waiting).release();
      for (let turns = 0; turns < 12; turns++) {
        const asking = app.locks.tryAcquire(keys, { waitTime: 15_000, ...options });
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        await operator.locks.forceRelease(key);
        const handle = await asking;
        expect(handle).not.toBeNull();
        if (handle === null) continue;
        await until('the holder agrees with the store', async () => {
          const stored = await operator.locks.inspect(key);
          return !handle.isHeld || stored?.token === handle.tokens.get(key);
        });
        await handle.release();
      }
      await context.nothingLeft();
    });
  });

  describe('O21: forceRelease of a hold that was seen', () => {
    it.each([
      ['a lock', {}],
      ['shares of a reader', { mode: 'shared' }],
      ['a share of a semaphore', { limit: 2 }],
    ] as [string, LockOptions][])(
      'breaks %s only while the owner that is named holds it, and tells who did it',
      async (_, options) => {
        const [app, operator] = await context.fleet(2);
        const key = context.key();
        const first = await app.locks.acquire(key, options);
        const seen = (await operator.locks.inspect(key))?.owner;
        await first.release();
        const second = await app.locks.acquire(key, options);
        expect(await operator.locks.forceRelease(key, { owner: seen, by: 'alice' })).toBe(false);
        expect((await operator.locks.inspect(key))?.holders).toHaveLength(1);
        expect(second.isHeld).toBe(true);
        expect(operator.events('broken')).toEqual([]);
        const owner = (await operator.locks.inspect(key))?.owner;
        expect(await operator.locks.forceRelease(key, { owner, by: 'alice' })).toBe(true);
        expect(await operator.locks.isLocked(key)).toBe(false);
        expect(operator.events('broken')).toMatchObject([{ key, by: 'alice' }]);
        expect(operator.log.matching(`${JSON.stringify(key)} was broken by force, by "alice"`)).toHaveLength(
          1,
        );
        expect(await operator.locks.forceRelease(key, { by: 'alice' })).toBe(false);
        expect(operator.events('broken')).toHaveLength(1);
        await second.release();
      },
    );

    it.each([{ by: '' }, { by: 7 }, { owner: '' }, { who: 'alice' }])('refuses %j', async (options) => {
      const app = await context.app();
      await expect(app.locks.forceRelease(context.key(), options as object)).rejects.toThrow(
        'forceRelease()',
      );
    });
  });
}
