import { describe, expect, it } from '@jest/globals';
import type { LockEvent } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { withUncaughtCollected } from '../support/uncaught.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

export function withLockRules(context: ContractContext): void {
  describe('withLock and events', () => {
    it('returns the value or throws the error of the work, and releases either way', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      expect(await app.locks.withLock(key, () => 'sync')).toBe('sync');
      expect(await app.locks.withLock(key, { waitTime: 0 }, async () => 'async')).toBe('async');
      const thenable: PromiseLike<boolean> = {
        then: (onValue, onError) => other.locks.isLocked(key).then(onValue, onError),
      };
      expect(await app.locks.withLock(key, () => thenable as Promise<boolean>)).toBe(true);
      const error = new Error('of the work');
      const fail = (): never => {
        throw error;
      };
      expect(await rejectionOf(app.locks.withLock(key, fail))).toBe(error);
      expect(await rejectionOf(app.locks.withLock(key, () => Promise.reject(error)))).toBe(error);
      // Sent on the connection of the release, after it; the other process has its own connection.
      expect(await app.locks.isLocked(key)).toBe(false);
      expect(await other.locks.isLocked(key)).toBe(false);
    });

    it('events describe the life of a lock in order', async () => {
      const [holder, waiter] = await context.fleet(2, { watchdogTimeout: 600 });
      const key = context.key();
      const handle = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(waiter, key);
      expect(await waiter.locks.tryAcquire(key, { waitTime: 60 })).toBeNull();
      if (holder.events('renewed', key).length === 0) {
        await next(holder.locks.events, (event) => event.type === 'renewed');
      }
      await handle.release();
      const second = await waiting;
      await second.release();
      const typesIn = (events: readonly LockEvent[]): string[] =>
        [...new Set(events.filter((event) => event.key === key && event.type !== 'renewed'))].map(
          ({ type }) => type,
        );
      expect(typesIn(holder.seen)).toEqual(['granted', 'released']);
      expect(typesIn(waiter.seen).filter((type) => type !== 'queued')).toEqual([
        'skipped',
        'granted',
        'released',
      ]);
      expect(typesIn(waiter.seen)[0]).toBe('queued');
      expect(holder.events('granted', key)[0]).toMatchObject({ key, token: handle.token });
      expect(waiter.events('granted', key)[0]?.waitedFor).toBeGreaterThanOrEqual(60);
      expect(holder.events('released', key)[0]?.heldFor).toBeGreaterThanOrEqual(59);
      for (const event of [...holder.seen, ...waiter.seen])
        expect(Math.abs(event.at - Date.now())).toBeLessThan(60_000);
    });

    it('F26: errors of event listeners break no lock, reach no caller and do not end the process', async () => {
      const [app, other] = await context.fleet(2, { watchdogTimeout: 600 });
      const key = context.key();
      const fail = (): never => {
        throw new Error('of the listener');
      };
      const uncaught = await withUncaughtCollected(async () => {
        const subscriptions = [app.locks.events.subscribe(fail), app.locks.events.subscribe({ next: fail })];
        await app.locks.withLock(key, () => undefined);
        const handle = await app.locks.acquire(key);
        expect(await app.locks.tryAcquire(key)).toBeNull();
        await elapse(700);
        expect(handle.isHeld).toBe(true);
        await other.admin.forceRelease(key);
        await until('the loss is known', () => handle.signal.aborted);
        await handle.release();
        for (const subscription of subscriptions) subscription.unsubscribe();
      });
      expect(uncaught).toEqual([]);
      // The other listeners have received every event.
      expect(app.events('granted', key)).toHaveLength(2);
      expect(app.events('renewed', key).length).toBeGreaterThan(0);
      expect(app.events('lost', key)).toHaveLength(1);
      expect(await app.locks.withLock(key, () => 'works')).toBe('works');
    });

    it('F26: errors of abort listeners break no lock', async () => {
      const app = await context.app();
      const key = context.key();
      // Node reports these errors as uncaught.
      await withUncaughtCollected(async () => {
        const fail = (): never => {
          throw new Error('of the listener');
        };
        const handle = await app.locks.acquire(key, { leaseTime: 100 });
        handle.signal.addEventListener('abort', fail);
        const second = await within(5_000, 'the next holder', app.locks.acquire(key, { waitTime: 15_000 }));
        expect(handle.signal.aborted).toBe(true);
        expect(await handle.release()).toBe('expired');
        expect(await second.release()).toBe('released');
        const abort = new AbortController();
        abort.signal.addEventListener('abort', fail);
        const third = await app.locks.acquire(key);
        const waiting = rejectionOf(app.locks.acquire(key, { signal: abort.signal }));
        await queuedIn(app, key);
        abort.abort('enough');
        expect(await waiting).toBe('enough');
        await third.release();
      });
      expect(app.events('lost', key)).toHaveLength(1);
      expect(await app.locks.withLock(key, () => 'works')).toBe('works');
    });
  });
}
