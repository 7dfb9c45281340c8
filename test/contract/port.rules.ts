import { describe, expect, it } from '@jest/globals';
import { elapse, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import { callersOf, crowd, stand, type PortCaller } from './port-callers.js';

const waiting = { wait: true };

/** What the engine requires of the port: requests that are duplicated, late or cancelled. */
export function portRules(context: ContractContext): void {
  describe('the port', () => {
    /** Of an exclusive lock, and of a semaphore. */
    const limits = context.isExclusive ? [1] : [1, 2];
    /** Not of a store without an order over processes, which knows only how many listen. */
    const queued = async (holders: readonly PortCaller[], waiter: PortCaller): Promise<void> => {
      if (!context.isExclusive) await stand(holders, [waiter]);
    };

    it.each(limits)(
      'P30: repeated requests of one owner are one hold or one queue position (limit %d)',
      async (limit) => {
        const clients = await context.clients(2);
        const { one, others, waiter, next } = callersOf(clients, context.key(), limit);
        const token = await one.hold({ lease: 2_000 });
        for (const settings of [{}, waiting, { lease: 100 }]) {
          expect(await one.acquire(settings)).toMatchObject({ outcome: 'granted', token });
          expect((await one.stored())?.leaseLeft).toBeGreaterThan(15_000);
        }
        for (const caller of others) await caller.hold();
        for (const caller of [waiter, next]) {
          expect(await caller.newcomer()).toMatchObject({ outcome: 'busy' });
        }
        await waiter.queue();
        await waiter.queue();
        expect(await one.acquire(waiting)).toMatchObject({ outcome: 'granted', token });
        await queued([one, ...others], waiter);
        await one.release();
        const pushed = await waiter.pushed();
        expect(pushed.token).toBeGreaterThan(token);
        // This request also claims it.
        expect(await waiter.acquire(waiting)).toMatchObject({ outcome: 'granted', token: pushed.token });
        expect((await waiter.stored())?.leaseLeft).toBeGreaterThan(15_000);
        await stand([...others, waiter]);
        for (const caller of [...others, waiter]) await caller.release();
        expect(waiter.pushes).toBe(1);
      },
    );

    it.each(limits)(
      'P30: releasing twice, or as another owner, affects no other hold (limit %d)',
      async (limit) => {
        const clients = await context.clients(2);
        const { one, others, waiter, next: stranger } = callersOf(clients, context.key(), limit);
        for (const caller of [one, ...others]) await caller.hold();
        await waiter.queue();
        expect(await stranger.release()).toBe('not-held');
        await queued([one, ...others], waiter);
        expect(await one.release()).toBe('released');
        await waiter.pushed();
        expect(await one.release()).toBe('not-held');
        await one.cancel();
        await stand([...others, waiter]);
        for (const caller of [...others, waiter]) {
          expect(await caller.renew(20_000)).toBe('renewed');
          expect(await caller.release()).toBe('released');
          expect(await caller.release()).toBe('not-held');
        }
      },
    );

    context.itOfAllKinds(
      'P10: asking again keeps the queue position, and a grant is pushed once to the first',
      async () => {
        const [holder, first, second] = crowd(3, await context.clients(3), context.key());
        await holder.hold();
        for (const caller of [first, second, first, first]) await caller.queue();
        await stand([holder], [first, second]);
        await holder.release();
        const grant = await first.pushed();
        expect(grant.startedAt).toBeLessThanOrEqual(performance.now());
        expect(grant.lease).toBe(2_000);
        await first.release();
        await second.pushed();
        expect(first.pushes).toBe(1);
        await second.release();
      },
    );

    context.itOfAllKinds('P11: the first waiter is served before a newcomer', async () => {
      const [holder, first, newcomer] = crowd(3, await context.clients(3), context.key());
      await holder.hold({ lease: 300 });
      await first.queue();
      await elapse(320);
      // The lease expired without a release: the next request finds the lock free and the queue not empty (P16).
      expect(await newcomer.acquire()).toMatchObject({ outcome: 'busy' });
      await first.pushed();
      await first.release();
    });

    it.each(limits)(
      'P12: a pushed grant that is not claimed expires after its claim lease, and frees nothing else (limit %d)',
      async (limit) => {
        const clients = await context.clients(2);
        const { one, others, waiter, next } = callersOf(clients, context.key(), limit);
        for (const caller of [one, ...others]) await caller.hold();
        await waiter.queue({ claimLease: 300 });
        await one.release();
        expect(await waiter.pushed()).toMatchObject({ lease: 300 });
        await until('it has expired', async () => (await waiter.stored()) === undefined);
        expect(await waiter.renew(20_000)).toBe('gone');
        await next.obtain();
        await stand([...others, next]);
        for (const caller of [...others, next]) await caller.release();
      },
    );

    it.each(limits)(
      'P12, P34: a renewal claims a pushed grant with exactly its lease; later ones never shorten it (limit %d)',
      async (limit) => {
        const clients = await context.clients(2);
        const { one, others, waiter } = callersOf(clients, context.key(), limit);
        for (const caller of [one, ...others]) await caller.hold();
        await waiter.queue();
        await one.release();
        await waiter.pushed();
        expect((await waiter.stored())?.leaseLeft).toBeLessThanOrEqual(2_000);
        expect(await waiter.renew(1_000)).toBe('renewed');
        expect((await waiter.stored())?.leaseLeft).toBeLessThanOrEqual(1_000);
        expect(await waiter.renew(20_000)).toBe('renewed');
        expect(await waiter.renew(500)).toBe('renewed');
        expect((await waiter.stored())?.leaseLeft).toBeGreaterThan(15_000);
        for (const caller of [...others, waiter]) await caller.release();
      },
    );

    context.itOfAllKinds(
      'P15: a waiter that misses three polls is skipped; one that keeps polling is not',
      async () => {
        const [holder, silent, living] = crowd(3, await context.clients(3), context.key());
        await holder.hold();
        await silent.queue();
        for (const silentSince = performance.now(); performance.now() - silentSince < 3_010;) {
          await living.queue();
          await elapse(500);
        }
        await living.queue();
        await holder.release();
        await living.pushed();
        expect(silent.pushes).toBe(0);
        await living.release();
      },
    );

    it.each(limits)(
      'P32: a cancel or a release in doubt blocks a late request, where requests can be late (limit %d)',
      async (limit) => {
        if (!context.store.canBeLate) return;
        const [late, released, other] = crowd(3, await context.clients(2), context.key(), { limit });
        await late.cancel(true);
        await released.hold();
        expect(await released.release(true)).toBe('released');
        if (limit > 1) await other.hold();
        for (const caller of [late, released]) {
          expect(await caller.acquire()).toEqual({ outcome: 'cancelled' });
          expect(await caller.acquire(waiting)).toEqual({ outcome: 'cancelled' });
        }
        await other.hold();
        for (const caller of [late, released]) {
          expect(await caller.acquire(waiting)).toEqual({ outcome: 'cancelled' });
        }
        await stand([other]);
        expect([late.pushes, released.pushes]).toEqual([0, 0]);
        await other.release();
      },
    );

    it.each(limits)(
      'P32: cancel removes an owner in any state, and the next waiter is served (limit %d)',
      async (limit) => {
        const clients = await context.clients(3);
        const { one, others, waiter, next } = callersOf(clients, context.key(), limit);
        for (const caller of [one, ...others]) await caller.hold();
        for (const caller of [waiter, next]) await caller.queue();
        for (const caller of [waiter, waiter]) await caller.cancel();
        await queued([one, ...others], next);
        for (const caller of [one, one]) await caller.cancel();
        await next.pushed();
        await stand([...others, next]);
        for (const caller of [...others, next]) await caller.cancel();
        expect(await one.client.lockOf(one.key)).toBeNull();
        expect(waiter.pushes).toBe(0);
      },
    );

    it('P34: a renewal never creates or shortens a lease, and replies for each', async () => {
      const [a, b] = await context.clients(2);
      const [mine, theirs, free] = [context.key(), context.key(), context.key()];
      const [owner, other] = [a.newOwner(), b.newOwner()];
      await a.take(mine, owner, 20_000);
      await b.take(theirs, other);
      const replies = await a.renew(
        { key: free, owner, lease: 5_000 },
        { key: theirs, owner, lease: 5_000 },
        { key: mine, owner, lease: 100 },
      );
      expect(replies).toEqual(['gone', 'taken', 'renewed']);
      expect(await a.inspect(free)).toBeNull();
      expect((await a.inspect(mine))?.leaseLeft).toBeGreaterThan(10_000);
      await a.renew({ key: mine, owner, lease: 60_000 });
      expect((await a.inspect(mine))?.leaseLeft).toBeGreaterThan(40_000);
      await a.release(mine, owner);
      expect(await a.renew({ key: mine, owner, lease: 5_000 })).toEqual(['gone']);
      await b.release(theirs, other);
    });

    it.each(limits)(
      'breaking a lock ends all holds, notifies subscribed clients and serves the waiters (limit %d)',
      async (limit) => {
        const [a, b, c] = await context.clients(3);
        const nextKey = context.keysTogether();
        // A client that has waited once is subscribed for the locks of that place.
        const warmUp = crowd(3, [c, a, b], nextKey());
        await warmUp[0].hold();
        for (const caller of warmUp.slice(1)) await caller.queue();
        for (const caller of [...warmUp].reverse()) await caller.cancel();
        const { one, others, waiter } = callersOf([a, b], nextKey(), limit);
        for (const caller of [one, ...others]) await caller.hold();
        await waiter.queue();
        expect(await c.forceRelease(one.key)).toBe(true);
        for (const caller of [one, ...others]) await until('it is notified', () => caller.isBroken);
        await waiter.pushed();
        await stand([waiter]);
        expect(await one.release()).toBe('not-held');
        expect(await waiter.renew(20_000)).toBe('renewed');
        expect(await c.forceRelease(one.key)).toBe(true);
        await until('it is notified', () => waiter.isBroken);
        expect(await c.forceRelease(one.key)).toBe(false);
        expect(await c.lockOf(one.key)).toBeNull();
      },
    );

    it.each(
      limits.flatMap((limit) =>
        limit === 1
          ? [[1, 1]]
          : [
              [3, 3],
              [Infinity, 40],
            ],
      ),
    )(
      'P21: of many requests in one tick as many are granted as permits are free (limit %d)',
      async (limit, expected) => {
        const clients = await context.clients(1);
        const callers = crowd(40, clients, context.key(), { limit });
        const replies = await Promise.all(callers.map((caller) => caller.acquire()));
        const tokens = replies.flatMap((reply) => (reply.outcome === 'granted' ? [reply.token] : []));
        expect(tokens).toHaveLength(expected);
        expect(new Set(tokens).size).toBe(expected);
        expect((await clients[0].lockOf(callers[0].key))?.holders).toHaveLength(expected);
        const released = await Promise.all(callers.map((caller) => caller.release()));
        expect(released.filter((reply) => reply === 'released')).toHaveLength(expected);
      },
    );
  });
}
