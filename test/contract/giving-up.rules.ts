import { describe, expect, it } from '@jest/globals';
import type { LockOptions } from '../../lib/index.js';
import { within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const ways: [string, LockOptions][] = [
  ['an exclusive lock', {}],
  ['a reader', { mode: 'shared' }],
  ['a permit', { limit: 3 }],
];

/** What cancelled callers leave behind when the store has not replied yet. */
export function givingUpRules(context: ContractContext): void {
  describe('callers that give up while their request is under way', () => {
    it.each(context.supported(ways))(
      'B60: %s requested by a cancelled caller is not left behind when the application closes',
      async (_, options) => {
        const app = await context.app();
        const keys: string[] = [];
        const work: Promise<unknown>[] = [];
        // At each moment around the sending of the request.
        for (let turns = 0; turns < 12; turns++) {
          const key = context.key();
          const leave = new AbortController();
          const call = app.locks.acquire(key, { ...options, waitTime: 20_000, signal: leave.signal });
          const given = call.then(
            (handle) => handle.release(),
            (error: unknown) => error,
          );
          for (let turn = 0; turn < turns; turn++) await Promise.resolve();
          leave.abort(new Error('enough'));
          keys.push(key);
          work.push(given);
        }
        await app.close();
        await within(10_000, 'all outcomes', Promise.all(work));
        await context.nothingLeft();
        const other = await context.app();
        for (const key of keys) expect(await other.locks.isLocked(key)).toBe(false);
      },
    );
  });
}
