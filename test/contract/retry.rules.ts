import { describe, expect, it } from '@jest/globals';
import {
  backoff,
  LockClosedError,
  LockOptionsError,
  LockTimeoutError,
  LockUnavailableError,
} from '../../lib/index.js';
import { LockStoreError } from '../../lib/stores/port/index.js';
import { patient } from '../support/hand-over.js';
import { bestLateness } from '../support/lateness.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { SpiedStore } from '../support/spied-store.js';
import { gate, rejectionOf, stateOf, until, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const often = { backoff: backoff.fixed(5) };
/** Longer than any test. */
const seldom = { backoff: backoff.fixed(600_000) };
const outage = new LockStoreError('the cable is cut', { inDoubt: false, retryable: true });

export function retryRules(context: ContractContext): void {
  describe('retry', () => {
    /** An application whose requests the test can see and change. */
    const spied = async (waitTime = 5_000): Promise<{ app: LockApp; store: SpiedStore }> => {
      const store = new SpiedStore(context.store.port());
      return { app: await context.app({ store, waitTime }), store };
    };

    const tries = async (store: SpiedStore, count: number): Promise<void> => {
      await until('it has made its attempts', () => store.asked.length >= count);
      // The reply has arrived too: a store may serve other requests first.
      await context.store.settled();
    };

    it('B10: after maxAttempts attempts a held lock is a LockTimeoutError with their number', async () => {
      const [{ app, store }, holder] = [await spied(), await context.app()];
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const start = performance.now();
      const retry = { maxAttempts: 4, backoff: backoff.fixed(20) };
      const error = await rejectionOf(app.locks.acquire(key, { ...patient, retry }));
      expect(performance.now() - start).toBeGreaterThanOrEqual(59);
      expect(error).toBeInstanceOf(LockTimeoutError);
      const timeout = error as LockTimeoutError;
      expect(timeout.message).toMatch(
        /was held by another caller at the last attempt \(number 4, after \d+ ms\)/,
      );
      expect(timeout.keys).toEqual([key]);
      expect(timeout.waitedFor).toBeGreaterThanOrEqual(59);
      expect(timeout.remaining).toBeGreaterThan(0);
      expect(store.asked).toHaveLength(4);
      expect(new Set(store.asked.map(({ owner }) => owner)).size).toBe(4);
      expect(app.events('timeout', key)).toHaveLength(1);
      expect(app.events('queued', key)).toEqual([]);
      expect(await app.locks.tryAcquire(key, { ...patient, retry: { ...retry, maxAttempts: 1 } })).toBeNull();
      expect(store.asked).toHaveLength(5);
      await handle.release();
    });

    it('acquires the lock with the first attempt after it was freed', async () => {
      const [{ app, store }, holder] = [await spied(), await context.app()];
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.withLock(key, { ...patient, retry: often }, (lock) => lock.token);
      await tries(store, 3);
      await handle.release();
      expect(await waiting).toBeGreaterThan(handle.token);
      const [granted] = app.events('granted', key);
      expect(granted?.waitedFor).toBeGreaterThanOrEqual(9);
    });

    it('acquires a free lock with the first attempt, and other callers of its process see it as held', async () => {
      const { app, store } = await spied();
      const key = context.key();
      const handle = await app.locks.acquire(key, { retry: seldom });
      expect(await app.locks.tryAcquire(key)).toBeNull();
      expect(store.asked).toHaveLength(1);
      await handle.release();
    });

    context.itOfAllKinds(
      'B13: has no queue position: queued callers go first, in other processes and in its own',
      async () => {
        const [{ app, store }, holder, other] = [await spied(), ...(await context.fleet(2))];
        const key = context.key();
        const handle = await holder.locks.acquire(key);
        const polling = app.locks.acquire(key, { ...patient, retry: often });
        await tries(store, 2);
        expect((await holder.admin.inspect(key))?.waiting).toBe(0);
        expect((await app.admin.inspect(key))?.waiting).toBe(0);
        const queued = [];
        for (const each of [other, app]) {
          queued.push(each.locks.acquire(key, patient));
          await queuedIn(each, key);
        }
        await handle.release();
        for (const waiting of queued) {
          const got = await within(5_000, 'the queue', waiting);
          expect(await stateOf(polling)).toBe('pending');
          await got.release();
        }
        await (await polling).release();
      },
    );

    it('is served even when many callers poll and wait', async () => {
      const fleet = await context.fleet(3);
      const key = context.key();
      let inside = 0;
      const work = async (): Promise<void> => {
        inside += 1;
        expect(inside).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        inside -= 1;
      };
      const retry = { backoff: backoff.exponential({ min: 1, max: 8 }) };
      const calls = fleet.flatMap(({ locks }) =>
        Array.from({ length: 8 }, (_, index) =>
          locks.withLock(key, index % 2 === 0 ? { ...patient, retry } : patient, work),
        ),
      );
      await Promise.all(calls);
    });

    it('B10: the end of waitTime is at most 50 ms late', async () => {
      const [{ app }, holder] = [await spied(), await context.app()];
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const errors: unknown[] = [];
      for (const retry of [seldom, often]) {
        const late = await bestLateness(
          200,
          () => context.store.roundTrip(),
          async () => {
            errors.push(await rejectionOf(app.locks.acquire(key, { waitTime: 200, retry })));
          },
        );
        expect(late).toBeLessThanOrEqual(50);
      }
      for (const error of errors) {
        expect(error).toBeInstanceOf(LockTimeoutError);
        expect((error as LockTimeoutError).waitedFor).toBeGreaterThanOrEqual(199);
      }
      await handle.release();
    });

    it('B10: a pause that would outlast waitTime is shortened for a last attempt', async () => {
      context.leavesLocks();
      const [{ app, store }, holder] = [await spied(), await context.app()];
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const start = performance.now();
      // Enough time for the first reply.
      const waitTime = context.store.isInRealTime === true ? 3_000 : 500;
      const waiting = app.locks.acquire(key, { waitTime, retry: seldom });
      await tries(store, 1);
      await handle.release();
      const got = await within(5_000, 'the lock', waiting);
      // Early enough to receive its reply within waitTime.
      // The engine expects the reply to take as long as the last one, which is long on a busy machine.
      const answer = context.store.isInRealTime === true ? 1_500 : context.store.delay;
      expect(performance.now() - start).toBeGreaterThanOrEqual(waitTime - 1 - answer);
      expect(performance.now() - start).toBeLessThan(5_000);
      expect(store.asked).toHaveLength(2);
      await got.release();
      expect(
        await rejectionOf(app.locks.acquire(await heldKey(holder), { waitTime: 60, retry: seldom })),
      ).toBeInstanceOf(LockTimeoutError);
      expect(store.asked).toHaveLength(4);
    });

    const heldKey = async (holder: LockApp): Promise<string> =>
      (await holder.locks.acquire(context.key())).key;

    it('B11: the last attempt that got a reply decides between held and unavailable', async () => {
      context.leavesLocks();
      const [{ app, store }, holder] = [await spied(), await context.app()];
      const key = await heldKey(holder);
      const retry = { ...often, maxAttempts: 3 };
      const outcome = (): Promise<unknown> => rejectionOf(app.locks.acquire(key, { ...patient, retry }));

      store.twist = (number) => (number < 3 ? outage : undefined);
      expect(await outcome()).toBeInstanceOf(LockTimeoutError);
      store.twist = (number) => (number === 6 ? outage : undefined);
      const error = await outcome();
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ cause: outage, keys: [key] });
      expect(store.asked).toHaveLength(6);
      expect(app.events('timeout', key)).toHaveLength(1);
      expect(app.events('unavailable', key)).toHaveLength(1);
      store.twist = () => outage;
      expect(await rejectionOf(app.locks.tryAcquire(key, { ...patient, retry }))).toBeInstanceOf(
        LockUnavailableError,
      );
    });

    it('B11: an outage that ends before the last attempt is no failure', async () => {
      const { app, store } = await spied();
      const key = context.key();
      store.twist = (number) => (number < 4 ? outage : undefined);
      const handle = await app.locks.acquire(key, { ...patient, retry: { ...often, maxAttempts: 4 } });
      expect(store.asked).toHaveLength(4);
      await handle.release();
    });

    it('B11: a failure that is not retryable ends it at once', async () => {
      const { app, store } = await spied();
      const refusal = new LockStoreError('no right', { inDoubt: false, retryable: false });
      store.twist = () => refusal;
      const failing = rejectionOf(app.locks.acquire(context.key(), { ...patient, retry: seldom }));
      expect(await within(2_000, 'the end', failing)).toMatchObject({
        code: 'LOCK_UNAVAILABLE',
        cause: refusal,
      });
      expect(store.asked).toHaveLength(1);
    });

    it('B10, B11: an attempt without a reply is an unavailable store, and a late grant is released', async () => {
      const { app, store } = await spied();
      const key = context.key();
      const silence = gate();
      store.twist = () => silence.closed;
      const late = await bestLateness(
        200,
        () => context.store.roundTrip(),
        async () => {
          const error = await rejectionOf(app.locks.acquire(context.key(), { waitTime: 200, retry: often }));
          expect(error).toBeInstanceOf(LockUnavailableError);
        },
      );
      expect(late).toBeLessThanOrEqual(50);
      await rejectionOf(app.locks.acquire(key, { waitTime: 20, retry: often }));
      expect(await app.locks.isLocked(key)).toBe(true);
      silence.open();
      await context.nothingLeft();
      expect(app.events('granted')).toEqual([]);
    });

    it('B11: an attempt without a reply after one that found it held is a timeout', async () => {
      context.leavesLocks();
      const [{ app, store }, holder] = [await spied(), await context.app()];
      const key = await heldKey(holder);
      const silence = gate();
      store.twist = (number) => (number === 1 ? undefined : silence.closed);
      const waiting = rejectionOf(app.locks.acquire(key, { waitTime: 200, retry: often }));
      expect(await within(2_000, 'the end', waiting)).toMatchObject({
        code: 'LOCK_TIMEOUT',
        message: expect.stringContaining('(number 1, '),
      });
      silence.open();
    });

    it('an abort ends a pause or an attempt at once', async () => {
      context.leavesLocks();
      const [{ app, store }, holder] = [await spied(), await context.app()];
      const key = await heldKey(holder);
      const inPause = new AbortController();
      const pausing = rejectionOf(
        app.locks.acquire(key, { waitTime: Infinity, signal: inPause.signal, retry: seldom }),
      );
      await tries(store, 1);
      inPause.abort('enough');
      expect(await within(2_000, 'the end of the pause', pausing)).toBe('enough');
      expect(store.asked).toHaveLength(1);

      const silence = gate();
      store.twist = () => silence.closed;
      const inTry = new AbortController();
      const free = context.key();
      const trying = rejectionOf(app.locks.acquire(free, { ...patient, signal: inTry.signal, retry: often }));
      await tries(store, 2);
      inTry.abort('enough');
      expect(await within(2_000, 'the end of the attempt', trying)).toBe('enough');
      silence.open();
      await until('the grant is released', async () => !(await holder.locks.isLocked(free)));
      expect(store.asked).toHaveLength(2);
      expect(new Set(app.seen.map(({ type }) => type))).toEqual(new Set(['aborted']));
    });

    it('B60: shutdown ends a pause or an attempt at once', async () => {
      context.leavesLocks();
      const [{ app, store }, holder] = [await spied(), await context.app()];
      const key = await heldKey(holder);
      const free = context.key();
      const silence = gate();
      store.twist = (number) => (number === 1 ? undefined : silence.closed);
      const calls = [rejectionOf(app.locks.acquire(key, { waitTime: Infinity, retry: seldom }))];
      await tries(store, 1);
      calls.push(rejectionOf(app.locks.acquire(free, { waitTime: Infinity, retry: often })));
      await tries(store, 2);
      const closed = app.close();
      for (const call of calls) {
        expect(await within(500, 'the refusal', call)).toBeInstanceOf(LockClosedError);
      }
      silence.open();
      await within(3_000, 'the end', closed);
      await until('the grant is released', async () => !(await holder.locks.isLocked(free)));
      expect(store.asked).toHaveLength(2);
    });

    it('B50: re-entry sends no request', async () => {
      const { app, store } = await spied();
      const key = context.key();
      const options = { retry: { maxAttempts: 1 } };
      const inner = await app.locks.withLock(key, options, (outer) =>
        app.locks.withLock(key, options, (lock) => lock.token === outer.token),
      );
      expect(inner).toBe(true);
      expect(store.asked).toHaveLength(1);
    });

    it('F40: contradictory combinations are rejected before anything is sent', async () => {
      const [{ app, store }, hasty] = [await spied(), await spied(0)];
      const [key, retry] = [context.key(), often];
      const refused = [
        app.locks.acquire(key, { retry, waitTime: 0 }),
        app.locks.acquire(key, { retry, fair: true as never }),
        app.locks.withLock(key, { retry, waitTime: 0 }, () => undefined),
        app.locks.tryAcquire(key, { retry }),
        app.locks.acquire(key, { retry: { backoff: 100 as never } }),
        hasty.app.locks.acquire(key, { retry }),
      ];
      for (const call of refused) expect(await rejectionOf(call)).toBeInstanceOf(LockOptionsError);
      expect([...store.asked, ...hasty.store.asked]).toEqual([]);
      await (await hasty.app.locks.acquire(key, { retry, waitTime: 1_000 })).release();
    });
  });
}
