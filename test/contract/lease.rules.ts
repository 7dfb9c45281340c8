import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { LockLostError, LockNotHeldError } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { blockEventLoop, elapse, next, rejectionOf, until } from '../support/until.js';
import { VirtualTime } from '../support/virtual-time.js';
import type { ContractContext } from './contract-context.js';

export function leaseRules(context: ContractContext): void {
  describe('leases and the watchdog', () => {
    afterEach(() => {
      jest.restoreAllMocks();
    });

    it('F30: after a forward jump of the wall clock the store confirms holds and lengthens none', async () => {
      const [holder, rival] = await context.fleet(2);
      const [kept, fixed] = [context.key(), context.key()];
      const handles = [
        await holder.locks.acquire(kept),
        await holder.locks.acquire(fixed, { leaseTime: 1_500 }),
      ];
      const now = Date.now.bind(Date);
      jest.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
      for (const handle of handles) expect(() => handle.assertHeld()).toThrow(LockNotHeldError);
      await until('the holds are confirmed', () => handles.every(({ isHeld }) => isHeld));
      for (const key of [kept, fixed]) expect(await rival.locks.tryAcquire(key)).toBeNull();
      const start = performance.now();
      const next = await rival.locks.acquire(fixed, { waitTime: 5_000 });
      expect(performance.now() - start).toBeLessThan(2_500);
      expect(handles.map(({ isHeld }) => isHeld)).toEqual([true, false]);
      expect(holder.events('lost', kept)).toEqual([]);
      await next.release();
      await handles[0]?.release();
    });

    it('B20: without leaseTime the lock outlives its lease for as long as it is held', async () => {
      const [holder, rival] = await context.fleet(2, { watchdogTimeout: 900 });
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      expect(await rival.locks.tryAcquire(key, { waitTime: 2_500 })).toBeNull();
      expect(handle.isHeld).toBe(true);
      expect(handle.signal.aborted).toBe(false);
      expect(holder.events('renewed', key).length).toBeGreaterThanOrEqual(3);
      // From a third of the lease on: no hot loop.
      expect(holder.events('renewed', key).length).toBeLessThanOrEqual(12);
      expect(await handle.release()).toBe('released');
    });

    it('B20: nothing is renewed after release', async () => {
      const [holder, rival] = await context.fleet(2, { watchdogTimeout: 600 });
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      await next(holder.locks.events, (event) => event.type === 'renewed');
      await handle.release();
      const renewals = holder.events('renewed', key).length;
      await elapse(500);
      expect(holder.events('renewed', key)).toHaveLength(renewals);
      expect(await rival.locks.isLocked(key)).toBe(false);
    });

    it('B20, P12: a lock acquired after waiting is renewed like any other', async () => {
      const [holder, app, rival] = await context.fleet(3);
      const [key, fixed] = [context.key(), context.key()];
      const handles = await Promise.all([holder.locks.acquire(key), holder.locks.acquire(fixed)]);
      const waiting = app.locks.acquire(key, { waitTime: 15_000 });
      const waitingFixed = app.locks.acquire(fixed, { waitTime: 15_000, leaseTime: 4_000 });
      await Promise.all([queuedIn(app, key), queuedIn(app, fixed)]);
      await Promise.all(handles.map((handle) => handle.release()));
      const [got, gotFixed] = await Promise.all([waiting, waitingFixed]);
      // The lease that comes with the grant is two seconds.
      await elapse(2_300);
      expect(got.isHeld).toBe(true);
      expect(got.remaining).toBeGreaterThan(20_000);
      expect(gotFixed.isHeld).toBe(true);
      expect(gotFixed.remaining).toBeLessThan(1_700);
      expect(await rival.locks.tryAcquire(key)).toBeNull();
      expect(await rival.locks.tryAcquire(fixed)).toBeNull();
      await (await rival.locks.acquire(fixed, { waitTime: 8_000 })).release();
      expect(gotFixed.isHeld).toBe(false);
      await got.release();
    });

    it('B20: with leaseTime the lock expires then, used or not, and not before', async () => {
      const [holder, rival] = [await context.app({ watchdogTimeout: 300 }), await context.app()];
      const key = context.key();
      const start = performance.now();
      const handle = await holder.locks.acquire(key, { leaseTime: 700 });
      const second = await rival.locks.acquire(key, { waitTime: 10_000 });
      const took = performance.now() - start;
      // Minus the margin for clock drift.
      expect(took).toBeGreaterThanOrEqual(685);
      expect(took).toBeLessThan(3_000);
      expect(handle.isHeld).toBe(false);
      expect(holder.events('renewed', key)).toHaveLength(0);
      await second.release();
    });

    it('B20, B21: one watchdog serves and renews all of 500 holds', async () => {
      const app = await context.app({ watchdogTimeout: 1_500 });
      const key = context.key();
      const first = await app.locks.acquire(key);
      const timers = (): number => VirtualTime.timerCount().virtual + VirtualTime.timerCount().real;
      const before = timers();
      const handles = await Promise.all(
        Array.from({ length: 500 }, (_, index) => app.locks.acquire(`${key}-${index}`)),
      );
      expect(timers() - before).toBeLessThan(5);
      await elapse(3_200);
      expect([first, ...handles].filter((handle) => !handle.isHeld)).toEqual([]);
      expect(app.events('lost')).toEqual([]);
      await Promise.all([first, ...handles].map((handle) => handle.release()));
    });

    it('B22: remaining is a safe lower bound of the lease', async () => {
      const app = await context.app();
      for (const leaseTime of [50, 1_000, 100_000]) {
        const handle = await app.locks.acquire(context.key(), { leaseTime });
        expect(handle.remaining).toBeLessThan(leaseTime);
        await handle.release();
      }
    });

    it('B23: an expired lease aborts the signal and reports the loss once; the work continues', async () => {
      const app = await context.app();
      const key = context.key();
      const result = await app.locks.withLock(key, { leaseTime: 150 }, async (lock) => {
        const left = lock.remaining;
        const start = performance.now();
        await new Promise((resolve) => lock.signal.addEventListener('abort', resolve, { once: true }));
        expect(performance.now() - start).toBeGreaterThanOrEqual(left - 2);
        expect(lock.signal.reason).toBeInstanceOf(LockLostError);
        expect(lock.signal.reason).toMatchObject({ reason: 'expired', keys: [key] });
        expect(() => lock.assertHeld()).toThrow(LockLostError);
        expect(() => app.locks.assertHeld(key)).toThrow(LockLostError);
        await elapse(100);
        return 'done';
      });
      expect(result).toBe('done');
      expect(app.events('lost', key)).toHaveLength(1);
      expect(app.events('lost', key)[0]).toMatchObject({ reason: 'expired' });
      expect(app.log.matching(key)).toHaveLength(1);
    });

    it('B27, F44: the outcome of the work is never masked by a loss, which the release may be the first to detect', async () => {
      const app = await context.app({ watchdogTimeout: 600 });
      const lose = async (signal: AbortSignal, key: string): Promise<void> => {
        await app.admin.forceRelease(key);
        await until('the loss is known', () => signal.aborted);
      };
      const key = context.key();
      const value = await app.locks.withLock(key, async (lock) => {
        await lose(lock.signal, key);
        return 42;
      });
      expect(value).toBe(42);

      const error = new Error('of the work');
      for (const onLost of ['report', 'throw'] as const) {
        const thrown = await rejectionOf(
          app.locks.withLock(key, { onLost }, async (lock) => {
            await lose(lock.signal, key);
            throw error;
          }),
        );
        expect(thrown).toBe(error);
      }
      const unnoticed = app.locks.withLock(key, async () => {
        await app.admin.forceRelease(key);
        throw error;
      });
      expect(await rejectionOf(unnoticed)).toBe(error);
    });

    it.each([
      ['one key', 1],
      ['several keys', 3],
    ])(
      'B27: onLost throw turns a value whose hold was lost into a LockLostError that carries it: %s',
      async (_, count) => {
        const app = await context.app({ watchdogTimeout: 600 });
        const keys = Array.from({ length: count }, () => context.key()).sort();
        const key = keys.at(-1) ?? '';
        const thrown = await rejectionOf(
          app.locks.withLock(keys, { onLost: 'throw' }, async (lock) => {
            await app.admin.forceRelease(key);
            await until('the loss is known', () => lock.signal.aborted);
            return 'the value';
          }),
        );
        expect(thrown).toBeInstanceOf(LockLostError);
        expect(thrown).toMatchObject({ code: 'LOCK_LOST', result: 'the value', keys: [key] });
        expect(await app.locks.withLock(keys, { onLost: 'throw' }, () => 'kept')).toBe('kept');
      },
    );

    it('B27: onLost throw detects a loss before any timer does', async () => {
      const app = await context.app();
      const thrown = await rejectionOf(
        app.locks.withLock(context.key(), { leaseTime: 60, onLost: 'throw' }, () => {
          blockEventLoop(120);
          return 'the value';
        }),
      );
      expect(thrown).toBeInstanceOf(LockLostError);
      expect(thrown).toMatchObject({ reason: 'expired', result: 'the value' });
    });
  });
}
