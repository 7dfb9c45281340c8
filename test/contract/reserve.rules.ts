import { describe, expect, it } from '@jest/globals';
import type { AcquireReply } from '../../lib/stores/port/index.js';
import { elapse } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

type Granted = Extract<AcquireReply, { outcome: 'granted' }>;

function granted(reply: AcquireReply): Granted {
  if (reply.outcome !== 'granted') throw new Error(`not granted but ${reply.outcome}`);
  return reply;
}

/** What the port provides for local hand-overs: blocks of tokens, and whether other processes wait. */
export function reserveRules(context: ContractContext): void {
  describe('the port, for hand-overs', () => {
    it('P34: a reservation during a renewal does not shorten the lease', async () => {
      const [a, b] = await context.clients(2);
      for (const tokens of [1, 5]) {
        const [key, owner] = [context.key(), a.newOwner()];
        await a.take(key, owner, 300);
        const renewed = a.renew({ key, owner, lease: 20_000 });
        const reserved = a.reserve({ key, owner, lease: 0, tokens });
        expect(await renewed).toEqual(['renewed']);
        expect(await reserved).toMatchObject({ outcome: 'reserved' });
        expect((await b.lockOf(key))?.holders[0]?.leaseLeft).toBeGreaterThan(10_000);
        await a.release(key, owner);
      }
    });

    it('P3: a grant carries as many tokens as requested, and no other owner receives any of them', async () => {
      context.leavesLocks();
      const [a, b] = await context.clients(2);
      const nextKey = context.keysTogether();
      const [key, other] = [nextKey(), nextKey()];
      let last = 0;
      for (const tokens of [1, 65, 2]) {
        for (const one of [a, b]) {
          const owner = one.newOwner();
          const grant = granted(await one.acquire(key, owner, { tokens }));
          expect(grant.tokens ?? 1).toBe(tokens);
          expect(grant.token).toBeGreaterThan(last);
          expect(Number.isSafeInteger(grant.token + tokens)).toBe(true);
          last = grant.token + tokens - 1;
          await one.release(key, owner);
        }
      }
      // Locks stored together share one counter, but for those of Redisson.
      const elsewhere = granted(await a.acquire(other, a.newOwner()));
      if (!context.isExclusive) expect(elsewhere.token).toBeGreaterThan(last);
    });

    it.each([
      ['of exclusive locks', 1],
      ['of permits', 7],
      ['of readers', Infinity],
    ])('P3: blocks %s that are requested at the same time do not overlap', async (_, limit) => {
      context.leavesLocks();
      if (!context.store.hasOneCounter) return;
      const [a, b] = await context.clients(2);
      const nextKey = context.keysTogether();
      const shared = Array.from({ length: 20 }, nextKey);
      const grants = await Promise.all(
        Array.from({ length: 100 }, async (__, index) => {
          const one = index % 2 ? a : b;
          const wait = index % 3 === 0;
          const tokens = 1 + (index % 65);
          // Five requests for each key, if its limit allows several holders.
          const key = limit === 1 ? nextKey() : (shared[index % 20] ?? '');
          const grant = granted(await one.acquire(key, one.newOwner(), { tokens, wait, limit }));
          return { first: grant.token, tokens: grant.tokens ?? 1 };
        }),
      );
      const blocks = grants.sort((one, other) => one.first - other.first);
      blocks.forEach(({ first }, index) => {
        const before = blocks[index - 1];
        if (before) expect(first).toBeGreaterThanOrEqual(before.first + before.tokens);
      });
    });

    it('P30: a repeated request of one owner does not return its reserved tokens twice', async () => {
      context.leavesLocks();
      const [a] = await context.clients(1);
      const key = context.key();
      const owner = a.newOwner();
      const { token } = granted(await a.acquire(key, owner, { tokens: 65 }));
      for (const wait of [false, true]) {
        const again = granted(await a.acquire(key, owner, { tokens: 65, wait }));
        expect(again.token).toBe(token);
        expect(again.tokens ?? 1).toBe(1);
      }
      await a.release(key, owner);
      expect(await a.take(key, a.newOwner())).toBeGreaterThanOrEqual(token + 65);
    });

    context.itOfAllKinds(
      'P12, P20: a pushed grant carries its tokens, and reports whether other processes wait',
      async () => {
        context.leavesLocks();
        const [a, b, c] = await context.clients(3);
        const key = context.key();
        const [holder, first, second] = [a.newOwner(), b.newOwner(), c.newOwner()];
        await a.take(key, holder);
        await b.acquire(key, first, { wait: true, tokens: 65 });
        await c.acquire(key, second, { wait: true, tokens: 3 });
        await a.release(key, holder);
        const one = await b.granted(first);
        expect(one).toMatchObject({ tokens: 65, othersWait: true });
        await b.release(key, first);
        const two = await c.granted(second);
        expect(two.tokens).toBe(3);
        expect(two.othersWait ?? false).toBe(false);
        expect(two.token).toBeGreaterThanOrEqual(one.token + 65);
        await c.release(key, second);
        expect(await a.take(key, a.newOwner())).toBeGreaterThanOrEqual(two.token + 3);
      },
    );

    context.itOfAllKinds(
      'P20: a queue position of the same client does not count as another process',
      async () => {
        const [a, b] = await context.clients(2);
        const key = context.key();
        const [holder, own, other] = [a.newOwner(), a.newOwner(), b.newOwner()];
        await a.take(key, holder);
        await a.acquire(key, own, { wait: true });
        expect(await a.reserve({ key, owner: holder, lease: 20_000, tokens: 1 })).toMatchObject({
          othersWait: false,
        });
        expect(granted(await a.acquire(key, holder, { wait: true })).othersWait ?? false).toBe(false);
        await b.acquire(key, other, { wait: true });
        expect(await a.reserve({ key, owner: holder, lease: 20_000, tokens: 1 })).toMatchObject({
          othersWait: true,
        });
        expect(granted(await a.acquire(key, holder, { wait: true })).othersWait).toBe(true);
        await a.release(key, holder);
        expect((await a.granted(own)).othersWait).toBe(true);
        await a.release(key, own);
        expect((await b.granted(other)).othersWait ?? false).toBe(false);
        await b.release(key, other);
      },
    );

    it('P20: a request that expects to wait gets a free lock immediately, and a queue position for a held one', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const [owner, other] = [a.newOwner(), b.newOwner()];
      const contended = { wait: true, contended: true, tokens: 4 };
      const grant = granted(await a.acquire(key, owner, contended));
      expect(grant.tokens ?? 1).toBe(4);
      expect(await b.acquire(key, other, contended)).toMatchObject({ outcome: 'queued' });
      expect((await a.inspect(key))?.waiting).toBe(1);
      await a.release(key, owner);
      expect((await b.granted(other)).token).toBeGreaterThanOrEqual(grant.token + 4);
      await b.release(key, other);
      const third = b.newOwner();
      granted(await b.acquire(key, third, contended));
      await b.release(key, third);
    });

    it('P20, P34: a reservation renews, never shortens, and carries tokens that no other owner receives', async () => {
      context.leavesLocks();
      const [a, b] = await context.clients(2);
      const newKey = context.keysTogether();
      const key = newKey();
      const owner = a.newOwner();
      const token = await a.take(key, owner, 1_000);
      const reply = await a.reserve({ key, owner, lease: 20_000, tokens: 65 });
      if (reply.outcome !== 'reserved') throw new Error(reply.outcome);
      expect(reply.token).toBeGreaterThan(token);
      await a.reserve({ key, owner, lease: 100, tokens: 1 });
      expect((await b.inspect(key))?.leaseLeft).toBeGreaterThan(15_000);
      // Other clients still see the owner and token of the grant.
      expect(await b.inspect(key)).toMatchObject({ owner, token });
      if (!context.isExclusive)
        expect(await b.take(newKey(), b.newOwner())).toBeGreaterThanOrEqual(reply.token + 65);
      await a.release(key, owner);
      expect(await b.take(key, b.newOwner())).toBeGreaterThanOrEqual(reply.token + 65);
    });

    it('P30: a repeated reservation renews once and never returns the same token twice', async () => {
      const [a] = await context.clients(1);
      const key = context.key();
      const owner = a.newOwner();
      await a.take(key, owner);
      const request = { key, owner, lease: 20_000, tokens: 65 };
      const replies = await Promise.all([a.reserve(request), a.reserve(request), a.reserve(request)]);
      const firsts = replies.map((reply) => (reply.outcome === 'reserved' ? reply.token : NaN));
      firsts.sort((one, other) => one - other);
      expect((firsts[1] ?? NaN) - (firsts[0] ?? NaN)).toBeGreaterThanOrEqual(65);
      expect((firsts[2] ?? NaN) - (firsts[1] ?? NaN)).toBeGreaterThanOrEqual(65);
      expect(await a.release(key, owner)).toBe('released');
    });

    it('P12: a reservation claims a pushed grant', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const [holder, owner] = [a.newOwner(), b.newOwner()];
      await a.take(key, holder);
      await b.acquire(key, owner, { wait: true, claimLease: 2_000 });
      await a.release(key, holder);
      await b.granted(owner);
      await b.reserve({ key, owner, lease: 1_000, tokens: 1 });
      // The claim sets exactly this lease, even if the pushed one was longer. Later renewals never shorten it.
      expect((await a.inspect(key))?.leaseLeft).toBeLessThanOrEqual(1_000);
      await b.reserve({ key, owner, lease: 20_000, tokens: 1 });
      await b.renew({ key, owner, lease: 500 });
      expect((await a.inspect(key))?.leaseLeft).toBeGreaterThan(15_000);
      await b.release(key, owner);
    });

    it('P30, P34: a reservation that arrives after the release affects no holder', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const [late, owner] = [a.newOwner(), b.newOwner()];
      await a.take(key, late);
      await a.release(key, late);
      const request = { key, owner: late, lease: 60_000, tokens: 65 };
      expect(await a.reserve(request)).toEqual({ outcome: 'gone' });
      expect(await b.inspect(key)).toBeNull();
      await context.nothingLeft();

      const token = await b.take(key, owner, 2_000);
      expect(await a.reserve(request)).toEqual({ outcome: 'taken' });
      expect(await a.inspect(key)).toMatchObject({ owner, token });
      expect((await a.inspect(key))?.leaseLeft).toBeLessThanOrEqual(2_000);
      expect(await b.release(key, owner)).toBe('released');
    });

    it('P34: a reservation for an expired lease does not restore it', async () => {
      const [a] = await context.clients(1);
      const key = context.key();
      const owner = a.newOwner();
      await a.take(key, owner, 100);
      await elapse(120);
      expect(await a.reserve({ key, owner, lease: 60_000, tokens: 65 })).toEqual({ outcome: 'gone' });
      expect(await a.inspect(key)).toBeNull();
    });

    it('P21: each of many requests of one tick has its own reply', async () => {
      const [a, b] = await context.clients(2);
      const keys = Array.from({ length: 150 }, () => context.key());
      const taken = await Promise.all(
        keys.map(async (key, index) => {
          const owner = a.newOwner();
          const rival = index % 3 === 0 ? b.newOwner() : undefined;
          if (rival) await b.take(key, rival);
          return { key, owner, rival };
        }),
      );
      const asked = await Promise.all(taken.map(({ key, owner }) => a.acquire(key, owner)));
      asked.forEach(({ outcome }, index) => expect(outcome).toBe(index % 3 === 0 ? 'busy' : 'granted'));
      const given = await Promise.all(taken.map(({ key, owner }) => a.release(key, owner)));
      given.forEach((reply, index) => expect(reply).toBe(index % 3 === 0 ? 'not-held' : 'released'));
      for (const { key, rival } of taken) {
        expect((await a.inspect(key))?.owner).toBe(rival);
        if (rival) await b.release(key, rival);
      }
    });

    context.itOfAllKinds('P21: releases of one tick each wake the first waiter of their lock', async () => {
      const [a, b, c] = await context.clients(3);
      const keys = Array.from({ length: 30 }, () => context.key());
      const held = await Promise.all(
        keys.map(async (key) => {
          const [owner, first, second] = [a.newOwner(), b.newOwner(), c.newOwner()];
          await a.take(key, owner);
          await b.acquire(key, first, { wait: true });
          await c.acquire(key, second, { wait: true });
          return { key, owner, first, second };
        }),
      );
      await Promise.all(held.map(({ key, owner }) => a.release(key, owner)));
      for (const { key, first, second } of held) {
        await b.granted(first);
        await b.release(key, first);
        await c.granted(second);
        await c.release(key, second);
      }
      expect(b.grants).toHaveLength(keys.length);
      expect(c.grants).toHaveLength(keys.length);
    });
  });
}
