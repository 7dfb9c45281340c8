import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockNotHeldError, LockOptionsError, type LockTimeoutError } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { blockEventLoop, rejectionOf, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

export function handleRules(context: ContractContext): void {
  describe('the handle', () => {
    it('describes its hold', async () => {
      const app = await context.app({ watchdogTimeout: 20_000 });
      const key = context.key();
      const before = Date.now();
      const handle = await app.locks.acquire(key);
      expect(handle.key).toBe(key);
      expect(handle.keys).toEqual([key]);
      expect([...handle.tokens]).toEqual([[key, handle.token]]);
      expect(handle.acquiredAt).toBeGreaterThanOrEqual(before - 1_000);
      expect(handle.acquiredAt).toBeLessThanOrEqual(Date.now() + 1_000);
      expect(handle.isHeld).toBe(true);
      expect(handle.remaining).toBeGreaterThan(0);
      expect(handle.remaining).toBeLessThan(20_000);
      expect(() => handle.assertHeld()).not.toThrow();
      await handle.release();
      expect(handle.isHeld).toBe(false);
      expect(handle.remaining).toBe(0);
      expect(() => handle.assertHeld()).toThrow(LockNotHeldError);
      expect(handle.signal.aborted).toBe(false);
    });

    it('B15: release is idempotent, also when called twice at once', async () => {
      const [one, two] = await context.fleet(2);
      const key = context.key();
      const handle = await one.locks.acquire(key);
      const outcomes = await Promise.all([handle.release(), handle.release()]);
      expect(outcomes[0]).toBe('released');
      expect(['released', 'expired']).toContain(outcomes[1]);
      const second = await two.locks.acquire(key);
      await handle.release();
      expect(second.isHeld).toBe(true);
      expect(await one.locks.isLocked(key)).toBe(true);
      expect(await second.release()).toBe('released');
      expect(one.events('released', key)).toHaveLength(1);
    });

    it('B15, F41: a release after the end of the lease never frees the next holder’s lock', async () => {
      const [one, two, three] = await context.fleet(3);
      const key = context.key();
      const late = await one.locks.acquire(key, { leaseTime: 120 });
      const owner = await two.locks.acquire(key, { waitTime: 5_000 });
      expect(late.isHeld).toBe(false);
      expect(await late.release()).toBe('expired');
      expect(await three.locks.tryAcquire(key)).toBeNull();
      expect(owner.isHeld).toBe(true);
      expect(await owner.release()).toBe('released');
    });

    it('B16: tokens are safe integers that grow with every hold, in any process and with any end', async () => {
      const apps = await context.fleet(3);
      const key = context.key();
      const tokens: number[] = [];
      for (let round = 0; round < 9; round++) {
        const app = apps[round % 3] ?? apps[0];
        const leaseTime = round % 3 === 1 ? context.leaseOf(40) : undefined;
        const handle = await app.locks.acquire(key, { leaseTime });
        tokens.push(handle.token);
        if (round % 3 === 0) await handle.release();
        if (round % 3 === 2) await app.admin.forceRelease(key);
      }
      expect(tokens.every((token) => Number.isSafeInteger(token) && token > 0)).toBe(true);
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    });

    it('B17: after a blocked event loop isHeld is right before any timer has run', async () => {
      const app = await context.app({ watchdogTimeout: 600 });
      const key = context.key();
      for (const leaseTime of [undefined, 400]) {
        const handle = await app.locks.acquire(key, { leaseTime });
        blockEventLoop(700);
        expect(handle.isHeld).toBe(false);
        expect(handle.remaining).toBe(0);
        expect(() => handle.assertHeld()).toThrow(LockLostError);
        await until('the signal is aborted', () => handle.signal.aborted);
        await handle.release();
      }
    });

    it('extend lengthens the lease and never shortens it', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const handle = await app.locks.acquire(key, { leaseTime: 3_000 });
      await handle.extend(10);
      expect(handle.remaining).toBeGreaterThan(1_500);
      await handle.extend(20_000);
      expect(handle.remaining).toBeGreaterThan(15_000);
      const info = await other.admin.inspect(key);
      expect(info).not.toBeNull();
      await handle.release();
    });

    it('extend after the end of the hold reports how it ended', async () => {
      const app = await context.app();
      const key = context.key();
      const released = await app.locks.acquire(key);
      await released.release();
      expect(await rejectionOf(released.extend(1_000))).toBeInstanceOf(LockNotHeldError);
      const lost = await app.locks.acquire(key, { leaseTime: context.leaseOf(30) });
      await until('the lease has expired', () => !lost.isHeld);
      expect(await rejectionOf(lost.extend(1_000))).toBeInstanceOf(LockLostError);
    });

    it('F40: extend rejects values that are no duration', async () => {
      const app = await context.app();
      const handle = await app.locks.acquire(context.key());
      for (const ms of [0, -1, NaN, Infinity, 2 ** 31, '1000', null, undefined]) {
        // Like a caller without a compiler.
        expect(await rejectionOf(handle.extend(ms as number))).toBeInstanceOf(LockOptionsError);
      }
      expect(handle.isHeld).toBe(true);
      await handle.release();
    });

    it('B23: forceRelease breaks the lock, notifies the holder and serves the next waiter', async () => {
      const [holder, waiter, operator] = await context.fleet(3, { watchdogTimeout: 3_000 });
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(waiter, key);
      expect(await operator.admin.forceRelease(key)).toBe(true);
      const start = performance.now();
      const second = await waiting;
      expect(second.token).toBeGreaterThan(handle.token);
      await until('the holder is notified', () => handle.signal.aborted);
      // At the next renewal at the latest.
      expect(performance.now() - start).toBeLessThan(2_000);
      expect(handle.signal.reason).toBeInstanceOf(LockLostError);
      expect(handle.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'taken', keys: [key] });
      expect(() => handle.assertHeld()).toThrow(LockLostError);
      expect(await handle.release()).toBe('expired');
      expect(second.isHeld).toBe(true);
      expect(holder.events('lost', key)).toHaveLength(1);
      await second.release();
      expect(await operator.admin.forceRelease(key)).toBe(false);
    });

    it('the remaining lease is exact, or marked as an upper bound', async () => {
      const [holder, other] = await context.fleet(2);
      const isBound = context.store.boundsLeasesOfOthers === true;
      const key = context.key();
      const handle = await holder.locks.acquire(key, { leaseTime: 6_000 });
      // A client that inspects for the first time can't know when the lease began.
      await until('part of the lease has passed', () => handle.remaining < 4_000, { deadline: 10_000 });
      const left = handle.remaining;
      const most = isBound ? 6_000 : 5_000;
      const info = await other.admin.inspect(key);
      expect(info).toMatchObject({ remainingIsBound: isBound, holders: [{ remainingIsBound: isBound }] });
      const error = await rejectionOf(other.locks.acquire(key, { waitTime: 0 }));
      expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', remainingIsBound: isBound });
      const { remaining = NaN, message } = error as LockTimeoutError;
      expect(message).toContain(
        `The holder's lease has ${isBound ? 'at most ' : ''}${remaining.toFixed(0)} ms`,
      );
      const queued = other.locks.acquire(key, { waitTime: context.longEnough(100) });
      const late = await rejectionOf(queued);
      expect(late).toMatchObject({ code: 'LOCK_TIMEOUT', remainingIsBound: isBound });
      expect(other.events('queued', key)).toMatchObject([{ holderLeaseIsBound: isBound }]);
      for (const each of [info?.remaining, remaining]) {
        expect(each).toBeGreaterThan(left - 1_000);
        expect(each).toBeLessThanOrEqual(most);
      }
      // The process itself knows the exact value.
      const own = await holder.admin.inspect(key);
      expect(own).toMatchObject({ remainingIsBound: false });
      expect(own?.remaining).toBeLessThanOrEqual(5_000);
      expect(Math.abs((own?.expiresAt ?? 0) - Date.now() - (own?.remaining ?? 0))).toBeLessThan(1_000);
      const refused = await rejectionOf(holder.locks.acquire(key, { waitTime: 0 }));
      expect(refused).toMatchObject({ code: 'LOCK_TIMEOUT', remainingIsBound: false });
      await handle.release();
    });

    it('isLocked and inspect see the holds of every process', async () => {
      const [holder, waiter, reader] = await context.fleet(3);
      const key = context.key();
      expect(await reader.locks.isLocked(key)).toBe(false);
      expect(await reader.admin.inspect(key)).toBeNull();
      const handle = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(waiter, key);
      for (const app of [holder, waiter, reader]) {
        expect(await app.locks.isLocked(key)).toBe(true);
        const info = await app.admin.inspect(key);
        expect(info).toMatchObject({ key, token: handle.token, waiting: 1 });
      }
      await handle.release();
      await (await waiting).release();
      expect(await reader.locks.isLocked(key)).toBe(false);
      expect(await reader.admin.inspect(key)).toBeNull();
    });
  });
}
