import { describe, expect, it } from '@jest/globals';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { LockConflictError, LockUpgradeError } from '../../lib/index.js';
import type { LockHandle } from '../../lib/index.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { rejectionOf, until, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import type { AskSettings, PortClient } from './port-client.js';
import { PortCaller, stand } from './port-callers.js';

/** B58: calls of a semaphore that take several permits at once. */
export function permitRules(context: ContractContext): void {
  describe('the port, for several permits', () => {
    const of =
      (limit: number, key: string) =>
      (client: PortClient, permits: number, settings: AskSettings = {}): PortCaller =>
        new PortCaller(client, key, { limit, permits, ...settings });

    it('B58: a hold takes all of its permits or none, and the holders together never more than the limit', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const asking = of(5, key);
      const [first, second, third] = [asking(a, 2), asking(b, 2), asking(a, 1)];
      await first.hold();
      await second.hold();
      expect(await asking(a, 2).acquire()).toMatchObject({ outcome: 'busy' });
      await third.hold();
      expect(await asking(b, 1).acquire()).toMatchObject({ outcome: 'busy' });
      expect(await first.release()).toBe('released');
      const whole = asking(b, 5);
      expect(await whole.acquire()).toMatchObject({ outcome: 'busy' });
      const again = asking(b, 2);
      await again.hold();
      for (const caller of [second, third, again]) await caller.release();
      await asking(a, 5).hold();
      expect(await asking(b, 1).acquire()).toMatchObject({ outcome: 'busy' });
      await a.forceRelease(key);
    });

    it('B58: a request that does not fit is not overtaken by smaller ones, whether they wait or not', async () => {
      const [a, b, c] = await context.clients(3);
      const key = context.key();
      const asking = of(4, key);
      const [first, second] = [asking(a, 2), asking(a, 1)];
      await first.hold();
      await second.hold();
      const large = asking(b, 3);
      await large.queue();
      // One permit is free.
      expect(await asking(c, 1).acquire()).toMatchObject({ outcome: 'busy' });
      const small = asking(c, 1);
      await small.queue();
      await stand([first, second], [large, small]);
      await second.release();
      await stand([first], [large, small]);
      expect(await large.acquire({ wait: true })).toMatchObject({ outcome: 'queued' });
      expect(await small.acquire({ wait: true })).toMatchObject({ outcome: 'queued' });
      await first.release();
      for (const caller of [large, small]) await caller.pushed();
      await stand([large, small]);
      await large.release();
      await small.release();
    });

    it('B58: free permits go to the waiters in order, up to the first for which they are too few', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const asking = of(4, key);
      const holder = asking(a, 4);
      await holder.hold();
      const [one, two, three, last] = [asking(b, 1), asking(a, 2), asking(b, 3), asking(a, 1)];
      for (const caller of [one, two, three, last]) await caller.queue();
      await holder.release();
      await one.pushed();
      await two.pushed();
      await stand([one, two], [three, last]);
      await two.cancel();
      await three.pushed();
      await stand([one, three], [last]);
      await one.release();
      await last.pushed();
      await three.release();
      await last.release();
    });

    it('B58: requests of one moment take no more than a hold of the same session leaves', async () => {
      const [a] = await context.clients(1);
      const asking = of(5, context.key());
      const holder = asking(a, 4);
      await holder.hold();
      const two = [asking(a, 1), asking(a, 2)] as const;
      const replies = await Promise.all(two.map((caller) => caller.acquire()));
      expect(replies.map(({ outcome }) => outcome)).toEqual(['granted', 'busy']);
      for (const caller of [holder, two[0]]) await caller.release();
    });

    it('B58: a request that finds a lease over serves the waiter, also if it is too large itself', async () => {
      const [a, b] = await context.clients(2);
      const asking = of(3, context.key());
      const holders = [asking(a, 1), asking(a, 1), asking(a, 1)];
      for (const holder of holders) await holder.hold();
      const small = asking(b, 1);
      await small.queue();
      await holders[0]?.expire();
      expect(await asking(a, 2).acquire()).toMatchObject({ outcome: 'busy' });
      await small.pushed();
      for (const caller of [small, ...holders.slice(1)]) await caller.release();
    });

    it('B58: a reply tells when enough leases end for the permits of the request', async () => {
      const [a, b] = await context.clients(2);
      const asking = of(4, context.key());
      const holders = [
        asking(a, 1, { lease: 20_000 }),
        asking(b, 1, { lease: 40_000 }),
        asking(a, 2, { lease: 80_000 }),
      ];
      for (const holder of holders) await holder.hold();
      for (const [permits, ms] of [
        [1, 20_000],
        [2, 40_000],
        [3, 80_000],
        [4, 80_000],
      ] as const) {
        const reply = await asking(b, permits).acquire();
        if (reply.outcome !== 'busy') throw new Error(`not busy but ${reply.outcome}`);
        expect(reply.holderLeaseLeft).toBeGreaterThan(ms / 2);
        expect(reply.holderLeaseLeft).toBeLessThan(ms * 1.1);
      }
      for (const holder of holders) await holder.release();
    });

    it('B58: a hold keeps its permits when it is renewed, claimed, asked for again and reserved', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const asking = of(5, key);
      const [holder, waiter] = [asking(a, 3, { label: 'import "a/b"' }), asking(b, 3)];
      const token = await holder.hold();
      expect(await holder.acquire()).toMatchObject({ outcome: 'granted', token });
      expect(await holder.renew(30_000)).toBe('renewed');
      expect(await a.reserve({ key, owner: holder.owner, lease: 0, tokens: 3 })).toMatchObject({
        outcome: 'reserved',
      });
      await waiter.queue();
      expect(await a.lockOf(key)).toMatchObject({
        limit: 5,
        holders: [{ owner: holder.owner, permits: 3, label: 'import "a/b"' }],
        waiters: [{ owner: waiter.owner, permits: 3, limit: 5, label: undefined }],
      });
      expect(await asking(b, 1).acquire()).toMatchObject({ outcome: 'busy' });
      await waiter.cancel();
      expect(await asking(b, 3).acquire()).toMatchObject({ outcome: 'busy' });
      await holder.release();
    });

    it('B58: a pushed grant has its permits, and gives back as many', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const asking = of(4, key);
      const [holder, waiter] = [asking(a, 2), asking(b, 3)];
      await holder.hold();
      await waiter.queue();
      await holder.release();
      await waiter.pushed();
      expect(await waiter.renew(20_000)).toBe('renewed');
      expect(await waiter.stored()).toMatchObject({ permits: 3 });
      expect(await asking(a, 2).acquire()).toMatchObject({ outcome: 'busy' });
      const beside = asking(a, 1);
      await beside.hold();
      await waiter.release();
      await asking(b, 3).hold();
      await a.forceRelease(key);
    });
  });

  describe('several permits', () => {
    it('B58: one hold has several permits, which inspect and list report', async () => {
      const [a, b] = await context.fleet(2);
      const key = context.key();
      const first = await a.locks.acquire(key, { limit: 10, permits: 3, label: 'import' });
      const second = await b.locks.acquire(key, { limit: 10 });
      const waiting = a.locks.acquire(key, { limit: 10, permits: 7, waitTime: 20_000 });
      await queuedIn(a, key);
      for (const app of [a, b]) {
        await until('the waiter is there', async () => (await app.admin.inspect(key))?.waiting === 1);
        expect(await app.admin.inspect(key)).toMatchObject({
          mode: 'shared',
          limit: 10,
          permits: { held: 4, free: 6 },
          holders: [
            { token: first.token, permits: 3, label: 'import' },
            { token: second.token, permits: 1 },
          ],
          waiters: [{ callers: 1, limit: 10, permits: 7 }],
        });
      }
      expect(a.events('granted', key)).toMatchObject([{ limit: 10, permits: 3 }]);
      expect(a.events('queued', key)).toMatchObject([{ limit: 10, permits: 7 }]);
      expect(a.admin.held()).toMatchObject([{ key, limit: 10, permits: 3 }]);
      expect(a.admin.waiting()).toMatchObject([{ key, limit: 10, permits: 7 }]);
      await second.release();
      const third = await within(10_000, 'the permits', waiting);
      await third.release();
      await first.release();
      const single = await a.locks.acquire(key);
      expect(await b.admin.inspect(key)).toMatchObject({ permits: undefined, holders: [{ permits: 1 }] });
      await single.release();
    });

    it('B58: in a process, later callers with fewer permits do not overtake, even if permits are handed over here', async () => {
      const app = await context.app();
      const key = context.key();
      const order: string[] = [];
      const call = (name: string, permits: number): Promise<unknown> =>
        app.locks.withLock(key, { limit: 3, permits, waitTime: 30_000 }, async () => {
          order.push(name);
          await context.store.roundTrip();
        });
      const held = [];
      for (let i = 0; i < 3; i++) held.push(await app.locks.acquire(key, { limit: 3 }));
      const calls = [call('light 1', 1)];
      await queuedIn(app, key);
      calls.push(call('heavy', 3), call('light 2', 1), call('light 3', 1), call('all but one', 2));
      for (const handle of held) {
        await handle.release();
        for (let turn = 0; turn < 3; turn++) await context.store.roundTrip();
      }
      await within(20_000, 'all', Promise.all(calls));
      expect(order.slice(0, 2)).toEqual(['light 1', 'heavy']);
      expect(order.at(-1)).toBe('all but one');
    });

    it('B58: a call for many permits is served although two processes keep all permits busy', async () => {
      const [a, b, c] = await context.fleet(3);
      const key = context.key();
      let [isOver, turns, held] = [false, 0, 0];
      let most = 0;
      const use = (app: LockApp, permits: number, work: () => Promise<unknown>): Promise<void> =>
        app.locks.withLock(key, { limit: 6, permits, waitTime: 30_000 }, async () => {
          most = Math.max(most, (held += permits));
          await work();
          held -= permits;
        });
      const busy = [a, b].flatMap((app) =>
        Array.from({ length: 12 }, async () => {
          while (!isOver) {
            await use(app, 1, () => context.store.roundTrip());
            await endOfTurn();
            turns += 1;
          }
        }),
      );
      await until('permits are handed over', () => turns > 50);
      try {
        for (const permits of [6, 4, 6]) {
          await within(
            20_000,
            'many permits',
            use(c, permits, () => context.store.roundTrip()),
          );
          await within(
            20_000,
            'many permits',
            use(a, permits, () => context.store.roundTrip()),
          );
        }
      } finally {
        isOver = true;
        await Promise.all(busy);
      }
      expect(most).toBe(6);
    }, 60_000);

    it('B58: callers with any numbers of permits in several processes hold the limit at most, and all are served', async () => {
      const apps = await context.fleet(3);
      const key = context.key();
      let [held, most] = [0, 0];
      const call = (index: number): Promise<void> => {
        const permits = 1 + ((index * 7) % 5);
        const app = apps[(index % 3) as 0 | 1 | 2];
        const fair = index % 4 === 0;
        return app.locks.withLock(key, { limit: 5, permits, fair, waitTime: 60_000 }, async () => {
          most = Math.max(most, (held += permits));
          await context.store.roundTrip();
          held -= permits;
        });
      };
      await within(50_000, 'all', Promise.all(Array.from({ length: 60 }, (_, index) => call(index))));
      // A process that stood still for longer than a claim lease has lost a hold: then this test shows nothing.
      expect(apps.flatMap((app) => app.events('lost'))).toEqual([]);
      expect(most).toBe(5);
      expect(held).toBe(0);
    }, 60_000);

    it('B20, B58: a hold is renewed, released, lost and broken with all of its permits', async () => {
      const [a, b] = await context.fleet(2, { watchdogTimeout: 600 });
      const key = context.key();
      const options = { limit: 4, permits: 3 };
      const first = await a.locks.acquire(key, options);
      await until('it was renewed', () => a.events('renewed', key).length >= 2);
      expect(await b.locks.tryAcquire(key, { limit: 4, permits: 2 })).toBeNull();
      expect(await first.release()).toBe('released');
      const second = await b.locks.acquire(key, options);
      expect(await a.admin.breakHold(key, { token: second.token })).toBe('broken');
      const third = await within(10_000, 'all permits', a.locks.acquire(key, { limit: 4, permits: 4 }));
      await until('the loss is detected', async () => {
        await second.extend(30_000 + Math.random() * 1_000).catch(() => undefined);
        return second.signal.aborted;
      });
      expect(await second.release()).toBe('expired');
      expect(third.isHeld).toBe(true);
      await third.release();
    });

    it('B58: a scope re-enters with at most the permits that it holds, and more are a LockUpgradeError at once', async () => {
      const app = await context.app();
      const key = context.key();
      await app.locks.withLock(key, { limit: 3, permits: 2 }, async (outer) => {
        for (const permits of [1, 2]) {
          const inner = await app.locks.acquire(key, { limit: 3, permits });
          expect(inner.token).toBe(outer.token);
          await inner.release();
        }
        for (const call of [
          app.locks.acquire(key, { limit: 3, permits: 3, waitTime: 10_000 }),
          app.locks.tryAcquire(key, { limit: 3, permits: 3 }),
        ]) {
          const error = await rejectionOf(call);
          expect(error).toBeInstanceOf(LockUpgradeError);
          expect(error).toMatchObject({ code: 'LOCK_UPGRADE', keys: [key] });
          expect((error as Error).message).toContain('2 of its 3 permits');
        }
        expect(await rejectionOf(app.locks.acquire(key, { limit: 4, permits: 3 }))).toBeInstanceOf(
          LockConflictError,
        );
      });
    });

    it('B58: of several keys a call takes so many permits each, all or none', async () => {
      const [a, b] = await context.fleet(2);
      const keys = [context.key(), context.key()].sort();
      const [first = '', second = ''] = keys;
      const options = { limit: 3, permits: 2 };
      const both = await a.locks.acquire(keys, options);
      for (const key of keys) {
        expect(await b.admin.inspect(key)).toMatchObject({ permits: { held: 2, free: 1 } });
        expect(await b.locks.tryAcquire(key, options)).toBeNull();
      }
      await both.release();
      const one = await b.locks.acquire(second, options);
      expect(await a.locks.tryAcquire(keys, options)).toBeNull();
      expect(await b.admin.inspect(first)).toBeNull();
      const waiting: Promise<LockHandle> = a.locks.acquire(keys, { ...options, waitTime: 20_000 });
      await queuedIn(a, second);
      await one.release();
      await (await within(10_000, 'both', waiting)).release();
    });
  });
}
