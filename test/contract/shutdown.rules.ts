import { describe, expect, it } from '@jest/globals';
import { LockClosedError, LockLostError } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { elapse, rejectionOf, stateOf, until, untilForReal, within } from '../support/until.js';
import { withUncaughtCollected } from '../support/uncaught.js';
import { VirtualTime } from '../support/virtual-time.js';
import type { ContractContext } from './contract-context.js';
import { begin } from './running-work.js';

export function shutdownRules(context: ContractContext): void {
  describe('shutdown', () => {
    it('B60: new calls and waiters are rejected, running work ends normally and is renewed meanwhile', async () => {
      // Request timeouts are a fraction of it, and must not be too short for a busy machine.
      const watchdogTimeout = context.store.isInRealTime === true ? 2_400 : 600;
      const [leaving, rival] = await context.fleet(2, { watchdogTimeout, shutdownTimeout: 10_000 });
      const key = context.key();
      const work = await begin(leaving, key);
      const waiter = rejectionOf(leaving.locks.acquire(key, { waitTime: 15_000 }));
      await queuedIn(leaving, key);

      const closed = leaving.close();
      expect(await within(2_000, 'the waiter', waiter)).toBeInstanceOf(LockClosedError);
      for (const call of [
        () => leaving.locks.acquire(key),
        () => leaving.locks.tryAcquire(context.key()),
        () => leaving.locks.withLock(context.key(), () => undefined),
      ]) {
        const error = await rejectionOf(Promise.resolve().then<unknown>(call));
        expect(error).toBeInstanceOf(LockClosedError);
        expect(error).toMatchObject({ code: 'LOCK_CLOSED' });
      }
      expect(await rival.locks.tryAcquire(key, { waitTime: 2.5 * watchdogTimeout })).toBeNull();
      expect(work.lock.isHeld).toBe(true);
      expect(await stateOf(closed)).toBe('pending');
      await work.end();
      await within(3_000, 'the end', closed);
      await (await rival.locks.acquire(key, { waitTime: 5_000 })).release();
    });

    it('B60: work that re-enters its own lock is not rejected during shutdown', async () => {
      context.leavesLocks();
      const leaving = await context.app({ shutdownTimeout: 10_000 });
      const key = context.key();
      const { lock, inside, end } = await begin(leaving, key);
      const closed = leaving.close();
      await until('it rejects other callers', async () => {
        const outcome = await leaving.locks.tryAcquire(context.key()).catch((error: unknown) => error);
        return outcome instanceof LockClosedError;
      });
      expect(await inside(() => leaving.locks.withLock(key, ({ token }) => token))).toBe(lock.token);
      await end();
      await closed;
    });

    it('B60: a hold whose work outlives shutdownTimeout is left to expire, not released under it', async () => {
      const [leaving, rival] = await context.fleet(2, { watchdogTimeout: 1_500, shutdownTimeout: 200 });
      const key = context.key();
      const handle = await leaving.locks.acquire(key);
      const start = performance.now();
      await leaving.close();
      expect(performance.now() - start).toBeGreaterThanOrEqual(195);
      expect(performance.now() - start).toBeLessThan(1_400);
      expect(await rival.locks.isLocked(key)).toBe(true);
      expect(handle.signal.aborted).toBe(true);
      expect(handle.signal.reason).toBeInstanceOf(LockLostError);
      expect(handle.isHeld).toBe(false);
      const second = await rival.locks.acquire(key, { waitTime: 10_000 });
      expect(performance.now() - start).toBeGreaterThan(900);
      await handle.release();
      expect(second.isHeld).toBe(true);
      await second.release();
    });

    it('B60: without holds shutdown is quick, and closing twice is harmless', async () => {
      const app = await context.app({ shutdownTimeout: 30_000 });
      await app.locks.withLock(context.key(), () => undefined);
      await within(3_000, 'the end', app.close());
      await within(3_000, 'the end', app.module.close());
    });

    it('B60: the events end with the application', async () => {
      const app = await context.app();
      const completed = new Promise<void>((resolve) => app.locks.events.subscribe({ complete: resolve }));
      await app.close();
      await within(1_000, 'the end of the events', completed);
    });

    it('B14: no timer and no rejection outlives the application', async () => {
      const handles = (): number =>
        process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
      await elapse(50);
      const before = { timers: VirtualTime.timerCount(), handles: handles() };
      const uncaught = await withUncaughtCollected(async () => {
        const [app, other] = await context.fleet(2, { watchdogTimeout: 600 });
        const key = context.key();
        const held = await other.locks.acquire(key);
        const lost = await app.locks.acquire(context.key(), { leaseTime: context.leaseOf(50) });
        const forgotten = app.locks.acquire(key, { waitTime: 15_000 }).catch((error: unknown) => error);
        const timedOut = app.locks.tryAcquire(key, { waitTime: 60 });
        const abort = new AbortController();
        const aborted = rejectionOf(app.locks.acquire(key, { signal: abort.signal, waitTime: 15_000 }));
        await queuedIn(app, key);
        abort.abort('enough');
        await aborted;
        await timedOut;
        await until('it is lost', () => lost.signal.aborted);
        await held.extend(2_000);
        await app.close();
        await forgotten;
        await held.release();
        await other.close();
      });
      expect(uncaught).toEqual([]);
      const { virtual } = before.timers;
      const areMore = (): boolean => VirtualTime.timerCount().virtual > virtual;
      // Not with `until`: its own timer would count, and its end would hide another one.
      for (let waited = 0; areMore() && waited < 10_000; waited += 5) await elapse(5);
      expect(VirtualTime.timerCount().virtual).toBeLessThanOrEqual(virtual);
      // Sockets, and the timers that Node sets for them, end in real time.
      await untilForReal(
        'timers and sockets are gone',
        () => VirtualTime.timerCount().real <= before.timers.real && handles() <= before.handles,
      );
    });
  });
}
