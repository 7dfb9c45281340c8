import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, type LockHandle } from '../../lib/index.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { bestLateness } from '../support/lateness.js';
import { elapse, rejectionOf, stateOf, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const patient = { waitTime: 15_000 };

export function waitingRules(context: ContractContext): void {
  describe('waiting', () => {
    it('B10: a held lock that is not released in time is a LockTimeoutError', async () => {
      const [holder, waiter] = await context.fleet(2);
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const error = await rejectionOf(waiter.locks.acquire(key, { waitTime: 150 }));
      expect(error).toBeInstanceOf(LockTimeoutError);
      const timeout = error as LockTimeoutError;
      expect(timeout.code).toBe('LOCK_TIMEOUT');
      expect(timeout.keys).toEqual([key]);
      expect(timeout.message).toContain(key);
      expect(timeout.waitedFor).toBeGreaterThanOrEqual(149);
      expect(timeout.remaining).toBeGreaterThan(0);
      expect(timeout.remaining).toBeLessThanOrEqual(30_000);
      await handle.release();
    });

    it('B10: tryAcquire returns null instead, at once by default or when its waitTime ends', async () => {
      const [holder, waiter] = await context.fleet(2);
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      expect(await waiter.locks.tryAcquire(key)).toBeNull();
      const start = performance.now();
      expect(await waiter.locks.tryAcquire(key, { waitTime: 120 })).toBeNull();
      expect(performance.now() - start).toBeGreaterThanOrEqual(119);
      await handle.release();
    });

    it('B10: calls without a waitTime use that of the module', async () => {
      context.leavesLocks();
      const app = await context.app({ waitTime: 100 });
      const key = context.key();
      await app.locks.acquire(key);
      const start = performance.now();
      expect(await rejectionOf(app.locks.acquire(key))).toBeInstanceOf(LockTimeoutError);
      expect(performance.now() - start).toBeLessThan(3_000);
    });

    it('B10: the end of waitTime is at most 50 ms late, also behind other callers of the process', async () => {
      context.leavesLocks();
      const [holder, waiter] = await context.fleet(2);
      const key = context.key();
      await holder.locks.acquire(key);
      const first = rejectionOf(waiter.locks.acquire(key, { waitTime: 8_000 }));
      const roundTrip = (): Promise<unknown> => context.store.roundTrip();
      const late = await bestLateness(200, roundTrip, async () => {
        await rejectionOf(waiter.locks.acquire(key, { waitTime: 200 }));
      });
      expect(late).toBeLessThanOrEqual(50);
      expect(await stateOf(first)).toBe('pending');
      await waiter.close();
      await first;
    });

    it('B10: a waiter that timed out is skipped', async () => {
      const [holder, gone, patientOne] = await context.fleet(3);
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const givenUp = rejectionOf(gone.locks.acquire(key, { waitTime: context.longEnough(150) }));
      await queuedIn(gone, key);
      const waiting = patientOne.locks.acquire(key, patient);
      await queuedIn(patientOne, key);
      await givenUp;
      await handle.release();
      const got = await within(1_800, 'the next waiter', waiting);
      await got.release();
    });

    it('B10: Infinity waits until the lock is free', async () => {
      const app = await context.app({ waitTime: 50 });
      const key = context.key();
      const handle = await app.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: Infinity });
      await elapse(200);
      expect(await stateOf(waiting)).toBe('pending');
      await handle.release();
      await (await waiting).release();
    });

    it('F24: a listener that aborts a wait in its queued event ends the wait', async () => {
      const app = await context.app();
      const key = context.key();
      const holder = await app.locks.acquire(key);
      const abort = new AbortController();
      app.locks.events.subscribe(({ type }) => {
        if (type === 'queued') abort.abort('enough');
      });
      const waiting = app.locks.acquire(key, { waitTime: Infinity, signal: abort.signal });
      expect(await within(2_000, 'the end of the wait', rejectionOf(waiting))).toBe('enough');
      await holder.release();
    });

    it('an abort signal ends the wait with its reason and never breaks a hold', async () => {
      const [holder, waiter] = await context.fleet(2);
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const reason = new Error('changed my mind');
      expect(await rejectionOf(waiter.locks.acquire(key, { signal: AbortSignal.abort(reason) }))).toBe(
        reason,
      );
      const abort = new AbortController();
      const waiting = rejectionOf(waiter.locks.acquire(key, { ...patient, signal: abort.signal }));
      await queuedIn(waiter, key);
      abort.abort(reason);
      expect(await waiting).toBe(reason);
      await handle.release();

      const late = new AbortController();
      const held = await waiter.locks.acquire(key, { signal: late.signal });
      late.abort(reason);
      expect(held.isHeld).toBe(true);
      expect(held.signal.aborted).toBe(false);
      expect(await held.release()).toBe('released');
    });

    it('an aborted tryAcquire rejects with the reason and does not return null', async () => {
      const app = await context.app();
      const key = context.key();
      const handle = await app.locks.acquire(key);
      const abort = new AbortController();
      const waiting = rejectionOf(app.locks.tryAcquire(key, { ...patient, signal: abort.signal }));
      await queuedIn(app, key);
      abort.abort('enough');
      expect(await waiting).toBe('enough');
      await handle.release();
    });

    context.itOfAllKinds('B13: processes are served in the order of their requests', async () => {
      const apps = await context.fleet(6);
      const key = context.key();
      const handle = await apps[0].locks.acquire(key);
      const order: number[] = [];
      const waits: Promise<void>[] = [];
      for (const [index, app] of [...apps.entries()].slice(1).reverse()) {
        waits.push(
          app.locks.withLock(key, patient, async () => {
            order.push(index);
            await elapse(5);
          }),
        );
        await queuedIn(app, key);
      }
      await handle.release();
      await Promise.all(waits);
      expect(order).toEqual([5, 4, 3, 2, 1]);
    });

    it('B13: waiters of one process are served in order', async () => {
      const app = await context.app();
      const key = context.key();
      const handle = await app.locks.acquire(key);
      const order: number[] = [];
      const waits = Array.from({ length: 20 }, (_, index) =>
        app.locks.withLock(key, patient, () => void order.push(index)),
      );
      await queuedIn(app, key);
      await handle.release();
      await Promise.all(waits);
      expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
    });

    it('B13: no caller starves while two processes acquire the lock again and again', async () => {
      const [one, two, third] = await context.fleet(3);
      const key = context.key();
      let going = true;
      const rounds = { one: 0, two: 0 };
      const loop = async (app: LockApp, name: 'one' | 'two'): Promise<void> => {
        while (going) await app.locks.withLock(key, patient, () => void rounds[name]++);
      };
      const loops = [loop(one, 'one'), loop(one, 'one'), loop(two, 'two'), loop(two, 'two')];
      for (let turn = 0; turn < 5; turn++) {
        const handle: LockHandle = await within(5_000, 'a turn', third.locks.acquire(key, patient));
        await handle.release();
      }
      going = false;
      await Promise.all(loops);
      expect(Math.min(rounds.one, rounds.two)).toBeGreaterThan(0);
    });

    it('F24: a wait aborted at the moment of its grant passes the lock to the next waiter', async () => {
      const [holder, aborted, waiter] = await context.fleet(3);
      for (let round = 0; round < 30; round++) {
        const key = context.key();
        const handle = await holder.locks.acquire(key);
        const abort = new AbortController();
        const first = aborted.locks.acquire(key, { ...patient, signal: abort.signal });
        await queuedIn(aborted, key);
        const second = waiter.locks.acquire(key, patient);
        await queuedIn(waiter, key);
        const released = handle.release();
        // The abort falls between the sending of the release and the arrival of the grant.
        if (round % 3 === 1) await turns(round);
        if (round % 3 === 2) await released;
        abort.abort('enough');
        await first.then(
          (got) => got.release(),
          (error: unknown) => expect(error).toBe('enough'),
        );
        await released;
        await (await within(1_800, 'the next waiter', second)).release();
      }
    });

    it('F24: a wait that times out at the moment of its grant passes the lock to the next waiter', async () => {
      const [holder, hasty, waiter] = await context.fleet(3);
      for (let round = 0; round < 20; round++) {
        const key = context.key();
        const handle = await holder.locks.acquire(key);
        const waitTime = context.longEnough(150);
        const end = performance.now() + waitTime;
        const first = hasty.locks.tryAcquire(key, { waitTime });
        await queuedIn(hasty, key);
        const second = waiter.locks.acquire(key, patient);
        await queuedIn(waiter, key);
        await elapse(Math.max(0, end - performance.now() - (round % 2 === 0 ? 6 : 2)));
        await handle.release();
        await (await first)?.release();
        await (await within(1_800, 'the next waiter', second)).release();
      }
    });
  });
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
