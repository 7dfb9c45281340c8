import { describe, expect, it } from '@jest/globals';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { elapse, until, within } from '../support/until.js';
import { queuedIn } from '../support/lock-app.js';
import { VirtualTime } from '../support/virtual-time.js';
import type { ContractContext } from './contract-context.js';
import { crowd, PortCaller } from './port-callers.js';

/** How long a reader holds the lock, ms. */
const READING = 20;

/** Local hand-overs of shared holds. */
export function shareTurnRules(context: ContractContext): void {
  describe('local hand-overs of shared holds', () => {
    it('B13: a process with callers for every permit does not block another process for long', async () => {
      const [crowded, other] = await context.fleet(2);
      const key = context.key();
      const options = { limit: 10, waitTime: 20_000 };
      let [turns, isServed] = [0, false];
      const busy = Array.from({ length: 60 }, async () => {
        while (!isServed) {
          await crowded.locks.withLock(key, options, () => context.store.roundTrip());
          // Without a network in between, no other process would get a turn.
          await endOfTurn();
          turns += 1;
        }
      });
      // All its queue positions are before that of the other process.
      await until('permits are handed over', () => turns > 300);
      const outcome = other.locks.withLock(key, { ...options, waitTime: 10_000 }, () => 'served');
      try {
        expect(await outcome).toBe('served');
      } finally {
        isServed = true;
        await Promise.all(busy);
      }
    });

    it('P24: permits are handed over inside a process, and never more than the limit are held', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const owners = new Set<string>();
      const tokens = new Set<number>();
      let [inside, most] = [0, 0];
      const use = (): Promise<void> =>
        app.locks.withLock(key, { limit: 3, waitTime: 30_000 }, async ({ token }) => {
          tokens.add(token);
          most = Math.max(most, (inside += 1));
          const { holders = [] } = (await other.admin.inspect(key)) ?? {};
          for (const { owner } of holders) owners.add(owner);
          inside -= 1;
        });
      await Promise.all(Array.from({ length: 60 }, use));
      expect(most).toBe(3);
      if (!context.store.isDecidedByVotes) expect(tokens.size).toBe(60);
      // On a distant store or a busy machine a permit is released to the store now and then.
      if (context.store.delay < 5) expect(owners.size).toBeLessThan(50);
    }, 60_000);

    it('P25: a writer acquires the lock in time among always busy readers of two processes', async () => {
      const [a, b, c] = await context.fleet(3);
      const key = context.key();
      let [isOver, reading, together] = [false, 0, 0];
      const waits: number[] = [];
      const busy = [a, b].flatMap((app) =>
        Array.from({ length: 4 }, async () => {
          while (!isOver) {
            await app.locks.withLock(key, { mode: 'shared', waitTime: 30_000 }, async () => {
              reading += 1;
              await elapse(READING);
              reading -= 1;
            });
            await endOfTurn();
          }
        }),
      );
      try {
        for (let round = 0; round < 10; round++) {
          await until('a reader holds the lock', () => reading > 0);
          await elapse(20 * round);
          const askedAt = performance.now();
          await c.locks.withLock(key, { waitTime: 20_000 }, async () => {
            waits.push(performance.now() - askedAt);
            together += reading;
            await context.store.roundTrip();
            together += reading;
          });
        }
      } finally {
        isOver = true;
        await Promise.all(busy);
      }
      expect(together).toBe(0);
      // In real time the waits depend on the load of the machine.
      const longest = VirtualTime.current === undefined ? 0 : Math.max(...waits);
      expect(longest).toBeLessThan(100 + READING + 4 * context.store.delay);
    }, 120_000);

    it('P25: a reader that arrives after a writer of another process goes after it, even if its process already reads', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const reading = { mode: 'shared', waitTime: 30_000 } as const;
      const first = await app.locks.acquire(key, reading);
      const order: string[] = [];
      const writer = other.locks.withLock(key, { waitTime: 30_000 }, () => order.push('writer'));
      await queuedIn(other, key);
      await context.store.settled();
      const late = app.locks.withLock(key, reading, () => order.push('reader'));
      await queuedIn(app, key);
      // By now the notification about the writer has arrived.
      for (let turn = 0; turn < 5; turn++) await context.store.roundTrip();
      expect(order).toEqual([]);
      await first.release();
      await within(10_000, 'both', Promise.all([writer, late]));
      expect(order).toEqual(['writer', 'reader']);
    });

    it('P20: another process’s waiter is reported behind any number of its own queue positions', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const [one, two, ...own] = crowd(72, [a], key, { limit: 2 });
      for (const caller of [one, two]) await caller.hold();
      // All at once: a waiter that does not poll for long is skipped.
      await own[0].queue();
      await Promise.all(own.slice(1).map((caller) => caller.queue()));
      const request = { key, owner: one.owner, lease: 20_000, tokens: 1 };
      expect(await a.reserve(request)).toMatchObject({ outcome: 'reserved', othersWait: false });
      const rival = new PortCaller(b, key, { limit: 2 });
      await rival.queue();
      expect(await a.reserve(request)).toMatchObject({ outcome: 'reserved', othersWait: true });
      await two.release();
      expect((await own[0].pushed()).othersWait).toBe(true);
      await rival.cancel();
      for (const caller of [one, ...own]) await caller.cancel();
    });

    it.each([1, 2])(
      'P20: a reservation without a lease leaves the lease of the hold unchanged (limit %i)',
      async (limit) => {
        const [a] = await context.clients(1);
        const [one, two, waiter] = crowd(3, [a], context.key(), { limit });
        const holders = limit === 1 ? [one] : [one, two];
        const reserve = (caller: PortCaller): ReturnType<typeof a.reserve> =>
          a.reserve({ key: caller.key, owner: caller.owner, lease: 0, tokens: 1 });
        const tokens: number[] = [];
        for (const caller of holders) tokens.push(await caller.hold({ lease: 20_000 }));
        for (const caller of holders) {
          const reply = await reserve(caller);
          if (reply.outcome !== 'reserved') throw new Error(reply.outcome);
          expect(reply.token).toBeGreaterThan(Math.max(...tokens));
          tokens.push(reply.token);
          expect((await caller.stored())?.leaseLeft).toBeGreaterThan(15_000);
        }
        // The grant will be pushed, and not claimed yet.
        await waiter.queue({ claimLease: 5_000 });
        await one.release();
        await waiter.pushed();
        expect((await reserve(waiter)).outcome).toBe('reserved');
        expect((await waiter.stored())?.leaseLeft).toBeGreaterThan(2_000);
        expect(await waiter.renew(1_000)).toBe('renewed');
        expect((await waiter.stored())?.leaseLeft).toBeLessThanOrEqual(1_000);
        // A reservation neither creates nor restores a lease.
        expect((await reserve(one)).outcome).toBe(limit === 1 ? 'taken' : 'gone');
        await waiter.release();
        expect((await reserve(waiter)).outcome).toBe('gone');
        if (limit > 1) await two.release();
      },
    );
  });
}
