import { describe, expect, it } from '@jest/globals';
import {
  backoff,
  LockOptionsError,
  LockQueueFullError,
  LockTimeoutError,
  type LockOptions,
} from '../../lib/index.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { rejectionOf, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const patient = { waitTime: 15_000 };

/** Callers that arrive at once, and how many of them may wait. */
const BURST = 1_000;
const MAX = 10;

/** Ways of acquiring a lock, and of acquiring it exclusively. */
const ways: [string, LockOptions, LockOptions & { limit?: number }][] = [
  ['exclusively', {}, {}],
  ['strictly in order', { fair: true }, {}],
  ['as readers', { mode: 'shared' }, {}],
  ['of a semaphore', { limit: 2 }, { limit: 2 }],
  ['with retry', { retry: { backoff: backoff.fixed(5) } }, {}],
];

/** The number of callers of a process that may wait for a key (`maxWaiting`). */
export function maxWaitingRules(context: ContractContext): void {
  describe('maxWaiting', () => {
    it('further callers of the process fail at once, and the waiters are served', async () => {
      const [app, holder] = await context.fleet(2);
      const key = context.key();
      for (const limit of context.isExclusive ? [1] : [1, 2]) {
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
          app.locks.acquire(key, { ...patient, limit, maxWaiting: 1, retry: { backoff: backoff.fixed(5) } }),
        ]) {
          const error = await rejectionOf(call);
          expect(error).toBeInstanceOf(LockQueueFullError);
          expect(error).toMatchObject({ code: 'LOCK_QUEUE_FULL', keys: [key], waiting: 1 });
          expect((error as Error).message).toMatch(
            /is held, and no more callers of this process may wait for it: 1 wait.* raise maxWaiting/,
          );
        }
        expect(app.events('queue-full', key)).toHaveLength(4);
        // Other processes count separately, and waitTime 0 never waits.
        expect(await app.locks.tryAcquire(key, { limit, maxWaiting: 0 })).toBeNull();
        expect(
          await rejectionOf(app.locks.acquire(key, { limit, waitTime: 0, maxWaiting: 0 })),
        ).toBeInstanceOf(LockTimeoutError);
        await Promise.all(held.map((hold) => hold.release()));
        await (await waiting).release();
      }
    });

    it('F26: a listener of queue-full can no longer change the outcome, by an abort', async () => {
      const [app, holder] = await context.fleet(2);
      const key = context.key();
      const held = await holder.locks.acquire(key);
      const stop = new AbortController();
      const subscription = app.locks.events.subscribe(({ type }) => {
        if (type === 'queue-full') stop.abort('too late');
      });
      const call = app.locks.acquire(key, { ...patient, maxWaiting: 0, signal: stop.signal });
      expect(await rejectionOf(call)).toBeInstanceOf(LockQueueFullError);
      expect(stop.signal.aborted).toBe(true);
      subscription.unsubscribe();
      await held.release();
    });

    it('0 allows no waiting, but a caller that finds the lock free acquires it', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const all = context.supported([[{}], [{ limit: 2 }], [{ mode: 'shared' }]] as const);
      for (const [options] of all) {
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
    });

    it.each(context.supported(ways))(
      'of 1,000 callers at once 10 wait for a held lock, and 990 are rejected: %s',
      async (_, options, whole) => {
        const [app, holder] = await context.fleet(2);
        const key = context.key();
        const held = await Promise.all(
          Array.from({ length: whole.limit ?? 1 }, () => holder.locks.acquire(key, whole)),
        );
        const burst = burstOf(app, key, { ...patient, ...options, maxWaiting: MAX });
        await until('most are rejected', () => burst.refused.length >= BURST - MAX);
        expect(burst.refused).toHaveLength(BURST - MAX);
        expect(burst.served).toBe(0);
        await Promise.all(held.map((hold) => hold.release()));
        await burst.all;
        expect(burst.served).toBe(MAX);
        for (const error of burst.refused) expect(error).toBeInstanceOf(LockQueueFullError);
      },
    );

    it('a burst at a free lock: waiters are served, further callers acquire it or are rejected', async () => {
      const app = await context.app();
      const key = context.key();
      const burst = burstOf(app, key, { ...patient, maxWaiting: MAX });
      await burst.all;
      expect(burst.served).toBeGreaterThanOrEqual(MAX);
      expect(burst.served + burst.refused.length).toBe(BURST);
      for (const error of burst.refused) expect(error).toBeInstanceOf(LockQueueFullError);
    });

    context.itOfAllKinds('readers that can be granted at once are never rejected', async () => {
      const app = await context.app();
      const burst = burstOf(app, context.key(), { ...patient, mode: 'shared', maxWaiting: MAX });
      await burst.all;
      expect(burst).toMatchObject({ served: BURST, refused: [] });
    });

    it('several keys: a caller counts where it waits, and a rejected one releases its other keys', async () => {
      const [app, holder] = await context.fleet(2);
      const another = context.keysTogether();
      const [free = '', busy = ''] = [another(), another()].sort();
      const held = await holder.locks.acquire(busy);
      const single = app.locks.acquire(busy, patient);
      await queuedIn(app, busy);
      const refused = await Promise.all(
        Array.from({ length: 5 }, () =>
          rejectionOf(app.locks.acquire([free, busy], { ...patient, maxWaiting: 1 })),
        ),
      );
      // Calls that take turns at the free key may find it held by one another.
      for (const error of refused) expect(error).toBeInstanceOf(LockQueueFullError);
      await (await holder.locks.acquire(free, patient)).release();
      await held.release();
      await (await single).release();
      await (await app.locks.acquire([free, busy], { ...patient, maxWaiting: 1 })).release();
    });

    it('the module’s value applies to calls without their own', async () => {
      const [app, holder] = [await context.app({ maxWaiting: 0 }), await context.app()];
      const key = context.key();
      const held = await holder.locks.acquire(key);
      expect(await rejectionOf(app.locks.acquire(key, patient))).toMatchObject({ maxWaiting: 0, waiting: 0 });
      const one = app.locks.acquire(key, { ...patient, maxWaiting: 1 });
      await queuedIn(app, key);
      const two = app.locks.acquire(key, { ...patient, maxWaiting: Infinity });
      await held.release();
      await (await one).release();
      await (await two).release();
    });

    it('B52: branches that re-enter are neither counted nor rejected', async () => {
      const app = await context.app();
      const key = context.key();
      await app.locks.withLock(key, async () => {
        const branch = (): Promise<number> =>
          app.locks.withLock(key, { ...patient, maxWaiting: 0 }, ({ token }) => token);
        expect(new Set(await Promise.all([branch(), branch(), branch()])).size).toBe(1);
      });
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

interface Burst {
  served: number;
  readonly refused: unknown[];
  /** Resolves when every call has an outcome. */
  readonly all: Promise<unknown>;
}

/** Many callers at once, which release the lock immediately. */
function burstOf(app: LockApp, key: string, options: LockOptions): Burst {
  const refused: unknown[] = [];
  const calls = Array.from({ length: BURST }, () =>
    app.locks
      .withLock(key, options, () => undefined)
      .then(
        () => void (burst.served += 1),
        (error: unknown) => void refused.push(error),
      ),
  );
  const burst: Burst = { served: 0, refused, all: Promise.all(calls) };
  return burst;
}
