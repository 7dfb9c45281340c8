import { describe, expect, it } from '@jest/globals';
import { backoff, LockTimeoutError, LockUnavailableError } from '../../lib/index.js';
import { LateAnswersStore } from '../support/late-answers.js';
import { rejectionOf } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

/** The minimum latency of replies, ms, and a lease that has expired by then. */
const LATENESS = 60;
const TOO_SHORT = 40;

const explained = (key: string): RegExp =>
  new RegExp(`^The lock "${key}" .* reply took (\\d+) ms, .* leaseTime of ${TOO_SHORT} ms`);

/** A `leaseTime` that expires before the reply arrives: a mistake of one caller, which must not affect others. */
export function shortLeaseRules(context: ContractContext): void {
  describe('a leaseTime shorter than the reply of the store takes', () => {
    const lateApp = async (waitTime = 10_000): ReturnType<typeof context.app> => {
      const store = new LateAnswersStore(context.store.port(), (request) =>
        request === 'reserve' ? 0 : LATENESS,
      );
      return await context.app({ store, waitTime });
    };

    const expectExplained = (error: unknown, key: string): void => {
      expect(error).toBeInstanceOf(LockUnavailableError);
      const { message, keys } = error as LockUnavailableError;
      expect(message).toMatch(explained(key));
      expect(Number(explained(key).exec(message)?.[1])).toBeGreaterThanOrEqual(LATENESS);
      expect(message).not.toMatch(/has not replied|\d\.\d/);
      expect(keys).toEqual([key]);
    };

    it('B10, B11: fails its own caller, with both figures; waiters behind it in the process are served at once', async () => {
      const app = await lateApp();
      const key = context.key();
      const start = performance.now();
      const short = rejectionOf(app.locks.acquire(key, { leaseTime: TOO_SHORT, label: 'short' }));
      const others = [1, 2, 3].map(() => app.locks.withLock(key, { label: 'other' }, (lock) => lock.token));
      expectExplained(await short, key);
      const tokens = await Promise.all(others);
      expect(performance.now() - start).toBeLessThan(2_000 + 20 * (LATENESS + context.store.delay));
      expect(new Set(tokens).size).toBe(3);
      // Not a failure of the store.
      expect(app.log.matching("Locks can't be acquired")).toEqual([]);
      expect(app.events('unavailable', key)).toEqual([expect.objectContaining({ label: 'short' })]);
    });

    it('B11: a waiter behind it that gives up does not report its lease', async () => {
      const app = await lateApp();
      const key = context.key();
      const short = rejectionOf(app.locks.acquire(key, { leaseTime: TOO_SHORT }));
      const other = await rejectionOf(
        app.locks.acquire(key, { waitTime: LATENESS + 20 + context.store.delay }),
      );
      expect(other instanceof LockTimeoutError || other instanceof LockUnavailableError).toBe(true);
      expect(String(other)).not.toMatch(new RegExp(`\\b${TOO_SHORT} ms`));
      expectExplained(await short, key);
    });

    it.each(
      context.supported([
        ['waitTime 0', { waitTime: 0 }],
        ['retry', { retry: { backoff: backoff.fixed(5) } }],
        ['few attempts', { retry: { backoff: backoff.fixed(5), maxAttempts: 1 } }],
        ['maxWaiting', { maxWaiting: 0 }],
        ['mode shared', { mode: 'shared' }],
        ['limit', { limit: 3 }],
      ] as const),
    )('B11: with %s it fails in the same way', async (_, options) => {
      const app = await lateApp();
      const key = context.key();
      const start = performance.now();
      expectExplained(await rejectionOf(app.locks.acquire(key, { ...options, leaseTime: TOO_SHORT })), key);
      expect(performance.now() - start).toBeLessThan(2_000 + 10 * (LATENESS + context.store.delay));
    });

    it('B11, B12: as one of several keys it fails in the same way', async () => {
      const app = await lateApp();
      const keys = [context.key(), context.key()].sort();
      const error = await rejectionOf(app.locks.acquire(keys, { leaseTime: TOO_SHORT }));
      expectExplained(error, keys[0] ?? '');
    });
  });
}
