import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from '../../lib/index.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { elapse, next, rejectionOf, stateOf, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const patient = { waitTime: 15_000 };

export function holdAtLeastRules(context: ContractContext): void {
  describe('holdAtLeast', () => {
    /** Time in ms from `since` until `app` gets the lock. */
    const freeAfter = async (app: LockApp, key: string, since: number): Promise<number> => {
      const handle = await app.locks.acquire(key, patient);
      const after = performance.now() - since;
      await handle.release();
      return after;
    };

    it('the lock stays unavailable until then for every process, and the hold has ended', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const start = performance.now();
      const lock = await app.locks.acquire(key, { holdAtLeast: 900, label: 'a job' });
      expect(await lock.release()).toBe('released');
      expect(performance.now() - start).toBeLessThan(600);
      expect([lock.isHeld, lock.remaining, lock.signal.aborted]).toEqual([false, 0, false]);
      expect(await lock.release()).toBe('released');
      expect(app.events('released', key)).toHaveLength(1);
      for (const { locks, admin } of [app, other]) {
        expect(await locks.tryAcquire(key)).toBeNull();
        expect(await locks.isLocked(key)).toBe(true);
        const info = await admin.inspect(key);
        expect(info).toMatchObject({ token: lock.token });
        expect(info?.remaining).toBeGreaterThan(100);
        expect(info?.remaining).toBeLessThanOrEqual(900);
      }
      const after = await freeAfter(other, key, start);
      expect(after).toBeGreaterThanOrEqual(899);
      expect(after).toBeLessThan(1_600);
      expect(app.events('lost', key)).toEqual([]);
    });

    it('a waiter acquires it at that time and not before: in another process', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const lock = await app.locks.acquire(key, { holdAtLeast: 500 });
      const granted = performance.now();
      const waiting = other.locks.acquire(key, patient);
      await queuedIn(other, key);
      await lock.release();
      const second = await waiting;
      const after = performance.now() - granted;
      expect(after).toBeGreaterThanOrEqual(495);
      // Woken by a release, rather than at the end of a poll.
      expect(after).toBeLessThan(900);
      expect(second.token).toBeGreaterThan(lock.token);
      await second.release();
    });

    it('a waiter acquires it at that time and not before: in the same process', async () => {
      const app = await context.app();
      const key = context.key();
      const lock = await app.locks.acquire(key, { holdAtLeast: 800 });
      const granted = performance.now();
      // The tokens for a hand-over have arrived.
      const renewed = next(app.locks.events, ({ type }) => type === 'renewed' || type === 'queued');
      const waits = [app.locks.acquire(key, patient), app.locks.acquire(key, patient)];
      await renewed;
      await lock.release();
      expect(await app.locks.tryAcquire(key)).toBeNull();
      expect(await stateOf(waits[0] ?? Promise.reject(new Error('no caller waits')))).toBe('pending');
      for (const wait of waits) {
        const second = await wait;
        expect(performance.now() - granted).toBeGreaterThanOrEqual(795);
        await second.release();
      }
      expect(performance.now() - granted).toBeLessThan(1_600);
    });

    it('after longer work the next holder follows at once', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      await app.locks.withLock(key, { holdAtLeast: 100 }, () => elapse(120));
      await context.store.settled();
      // Sent after the release, which may still be under way (P22).
      expect(await app.locks.isLocked(key)).toBe(false);
      const next = await other.locks.tryAcquire(key);
      expect(next?.isHeld).toBe(true);
      await next?.release();
      await app.locks.withLock(key, { holdAtLeast: 0 }, () => undefined);
      await context.store.settled();
      expect(await app.locks.isLocked(key)).toBe(false);
      expect(await other.locks.isLocked(key)).toBe(false);
    });

    it('a watchdog or a leaseTime that is longer does not lengthen it, and a shorter one does not shorten it', async () => {
      const [quick, slow, other] = [
        await context.app({ watchdogTimeout: 300 }),
        await context.app(),
        await context.app(),
      ];
      const [short, long] = [context.key(), context.key()];
      const start = performance.now();
      await quick.locks.withLock(short, { holdAtLeast: 1_000 }, () => undefined);
      await slow.locks.withLock(long, { holdAtLeast: 1_000, leaseTime: 20_000 }, () => undefined);
      // Neither handle can end it any more.
      await quick.close();
      await slow.close();
      for (const key of [short, long]) {
        expect(await other.locks.tryAcquire(key)).toBeNull();
        const info = await other.admin.inspect(key);
        expect(info?.remaining).toBeLessThanOrEqual(1_000);
      }
      for (const key of [short, long]) {
        const after = await freeAfter(other, key, start);
        expect(after).toBeGreaterThanOrEqual(990);
        expect(after).toBeLessThan(3_000);
      }
    });

    it('B60: shutdown neither waits for it nor ends it', async () => {
      const [app, other] = await context.fleet(2, { shutdownTimeout: 10_000 });
      const key = context.key();
      const start = performance.now();
      const lock = await app.locks.acquire(key, { holdAtLeast: 1_500 });
      // Requested at the moment the application closes.
      const releasing = lock.release();
      await within(1_200, 'the end of the application', app.close());
      expect(await releasing).toBe('released');
      expect(await other.locks.tryAcquire(key)).toBeNull();
      expect(await freeAfter(other, key, start)).toBeGreaterThanOrEqual(1_495);
    });

    it('forceRelease ends it, and its end does not affect the next holder', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      await app.locks.withLock(key, { holdAtLeast: 400 }, () => undefined);
      expect(await other.admin.forceRelease(key)).toBe(true);
      const second = await other.locks.tryAcquire(key);
      await elapse(500);
      expect(second?.isHeld).toBe(true);
      expect(await app.locks.tryAcquire(key)).toBeNull();
      expect(await second?.release()).toBe('released');
    });

    it.each(['before', 'by'])('a hold whose loss is detected %s its release keeps nothing', async (when) => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const lock = await app.locks.acquire(key, { holdAtLeast: 60_000 });
      await other.admin.forceRelease(key);
      if (when === 'before') {
        await rejectionOf(lock.extend(60_000));
        expect(lock.isHeld).toBe(false);
      }
      expect(await lock.release()).toBe('expired');
      const second = await other.locks.tryAcquire(key);
      expect(second?.isHeld).toBe(true);
      await second?.release();
    });

    it('B54: the minimum of an inner hold counts from its own grant, and can only delay the end of the outer one', async () => {
      const [app, other] = await context.fleet(2);
      const [key, unchanged] = [context.key(), context.key()];
      let granted = 0;
      await app.locks.withLock(key, { holdAtLeast: 100 }, async () => {
        await elapse(150);
        await app.locks.withLock(key, { holdAtLeast: 700 }, () => {
          granted = performance.now();
        });
        // The inner hold has ended, and its key still belongs to the outer one.
        expect(await app.locks.withLock(key, { waitTime: 0 }, () => 'again')).toBe('again');
      });
      expect(await other.locks.tryAcquire(key)).toBeNull();
      expect(await freeAfter(other, key, granted)).toBeGreaterThanOrEqual(695);

      const start = performance.now();
      await app.locks.withLock(unchanged, { holdAtLeast: 600 }, () =>
        app.locks.withLock(unchanged, { holdAtLeast: 50 }, () => undefined),
      );
      expect(await freeAfter(other, unchanged, start)).toBeGreaterThanOrEqual(599);
    });

    context.itOfAllKinds(
      'a permit stays unavailable like an exclusive lock, and leaves the others alone',
      async () => {
        const [app, other] = await context.fleet(2);
        const [read, room] = [context.key(), context.key()];
        const start = performance.now();
        await app.locks.withLock(read, { mode: 'shared', holdAtLeast: 800 }, () => undefined);
        await app.locks.withLock(room, { limit: 2, holdAtLeast: 800 }, () => undefined);
        const reader = await other.locks.tryAcquire(read, { mode: 'shared' });
        expect(reader?.isHeld).toBe(true);
        await reader?.release();
        expect(await other.locks.tryAcquire(read)).toBeNull();
        const second = await app.locks.acquire(room, { limit: 2, waitTime: 0 });
        for (const { locks } of [app, other]) expect(await locks.tryAcquire(room, { limit: 2 })).toBeNull();
        const third = await app.locks.acquire(room, { limit: 2, ...patient });
        expect(performance.now() - start).toBeGreaterThanOrEqual(799);
        expect(second.isHeld).toBe(true);
        await second.release();
        await third.release();
        const writer = await other.locks.acquire(read, patient);
        expect(performance.now() - start).toBeGreaterThanOrEqual(799);
        await writer.release();
      },
    );

    it('B12: each key of an array stays unavailable; a key released because another was busy does not', async () => {
      const [app, other] = await context.fleet(2);
      const newKey = context.keysTogether();
      const keys = [`${newKey()}-a`, `${newKey()}-b`];
      const [a = '', b = ''] = [...keys].sort();
      const busy = await other.locks.acquire(b);
      expect(
        await rejectionOf(app.locks.acquire(keys, { holdAtLeast: 60_000, waitTime: 500 })),
      ).toBeInstanceOf(LockTimeoutError);
      expect(await other.locks.isLocked(a)).toBe(false);
      await busy.release();
      const start = performance.now();
      await app.locks.withLock(keys, { holdAtLeast: 700 }, () => undefined);
      for (const key of keys) expect(await other.locks.tryAcquire(key)).toBeNull();
      expect(await other.locks.tryAcquire(keys)).toBeNull();
      const both = await other.locks.acquire(keys, patient);
      expect(performance.now() - start).toBeGreaterThanOrEqual(699);
      await both.release();
    });
  });
}
