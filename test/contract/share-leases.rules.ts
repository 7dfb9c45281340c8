import { describe, expect, it } from '@jest/globals';
import { elapse, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import { crowd, PortCaller, stand } from './port-callers.js';

const reader = { limit: Infinity };

/** What the port requires for each shared hold: claims, leases, doubt, forced release and inspection. */
export function shareLeaseRules(context: ContractContext): void {
  describe('the port, for the leases of shared holds', () => {
    it('P12: simultaneous renewals of a pushed grant all get a reply', async () => {
      const clients = await context.clients(2);
      const [one, owner] = crowd(2, clients, context.key(), { limit: 1 });
      await one.hold();
      await owner.queue();
      await one.release();
      await owner.pushed();
      const answers = [owner.renew(1_000), owner.renew(20_000), owner.renew(30_000, true)];
      expect(await Promise.all(answers)).toEqual(['renewed', 'renewed', 'renewed']);
      await owner.release();
    });

    it('P34: a renewal never restores or creates a shared hold, and replies for each', async () => {
      const [a, b] = await context.clients(2);
      const [key, free] = [context.key(), context.key()];
      const [one, two, stranger] = crowd(3, [a], key, reader);
      for (const caller of [one, two]) await caller.hold();
      await one.expire();
      expect(
        await a.renew(
          { key, owner: one.owner, lease: 20_000 },
          { key, owner: stranger.owner, lease: 20_000 },
          { key: free, owner: two.owner, lease: 20_000 },
          { key, owner: two.owner, lease: 40_000 },
        ),
      ).toEqual(['gone', 'gone', 'gone', 'renewed']);
      await stand([two]);
      expect((await two.stored())?.leaseLeft).toBeGreaterThan(30_000);
      expect(await b.lockOf(free)).toBeNull();
      await two.release();
      expect(await two.renew(20_000)).toBe('gone');
    });

    it('P34: a shared hold whose lease has expired is not held, even before any request notices it', async () => {
      const clients = await context.clients(2);
      const [renewed, released, other] = crowd(3, clients, context.key(), reader);
      for (const caller of [renewed, released]) await caller.hold({ lease: 100 });
      await other.hold();
      await elapse(120);
      expect(await renewed.renew(20_000)).toBe('gone');
      expect(await released.release()).toBe('not-held');
      await stand([other]);
      await other.release();
    });

    it('a renewal to an exact lease shortens or lengthens any hold', async () => {
      const [a] = await context.clients(1);
      for (const limit of [1, Infinity, 3]) {
        const caller = new PortCaller(a, context.key(), { limit });
        await caller.hold();
        expect(await caller.renew(2_000, true)).toBe('renewed');
        expect((await caller.stored())?.leaseLeft).toBeLessThanOrEqual(2_000);
        expect(await caller.renew(40_000, true)).toBe('renewed');
        expect((await caller.stored())?.leaseLeft).toBeGreaterThan(30_000);
        expect(await caller.renew(1, true)).toBe('renewed');
        await until('it has expired', async () => (await caller.stored()) === undefined);
        expect(await caller.renew(1_000, true)).toBe('gone');
        expect(await caller.release()).toBe('not-held');
      }
    });

    it.each([
      ['the only hold', 1, 1, Infinity],
      ['all holds', 3, 3, Infinity],
      ['all holds but one that is released', 3, 2, 3],
    ])('%s, shortened to an exact lease, leave nothing behind', async (_, count, shortened, limit) => {
      const clients = await context.clients(2);
      const holders = crowd(3, clients, context.key(), { limit }).slice(0, count);
      for (const caller of holders) await caller.hold();
      for (const [index, caller] of holders.slice(0, shortened).entries()) {
        expect(await caller.renew(1_000 + 500 * index, true)).toBe('renewed');
      }
      for (const caller of holders.slice(shortened)) expect(await caller.release()).toBe('released');
      await elapse(100 + 500 * shortened);
      expect((await holders[shortened - 1]?.stored())?.leaseLeft).toBeGreaterThan(0);
      // No further request about the lock: the store removes it without one.
    });

    it('P32, P33: a release in doubt removes the queue position that a late request of its owner created', async () => {
      const clients = await context.clients(2);
      const [holder, late, next] = crowd(3, clients, context.key(), { limit: 1 });
      const behind = new PortCaller(clients[0], holder.key, reader);
      await holder.hold();
      for (const caller of [late, next, behind]) await caller.queue();
      expect(await late.release(true)).toBe('not-held');
      await stand([holder], [next, behind]);
      await next.release(true);
      await holder.release();
      await behind.pushed();
      await stand([behind]);
      await behind.release();
    });

    it('inspect reports every holder and every waiter, in order, also after pushes and renewals', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const label = 'nightly report, part 1 {ü} =%20';
      const first = new PortCaller(a, key, { limit: Infinity, label });
      const second = new PortCaller(b, key, reader);
      const writer = new PortCaller(a, key, { label: 'the writer', callers: 3 });
      const third = new PortCaller(b, key, { ...reader, label: 'a reader', callers: 2 });
      const tokens = [await first.hold(), await second.hold()];
      for (const caller of [writer, third]) await caller.queue();
      const waiter = { owner: third.owner, callers: 2, limit: Infinity, label: 'a reader' };
      expect(await b.lockOf(key)).toMatchObject({
        limit: Infinity,
        holders: [
          { owner: first.owner, token: tokens[0], label },
          { owner: second.owner, token: tokens[1], label: undefined },
        ],
        waiters: [{ owner: writer.owner, callers: 3, limit: 1, label: 'the writer' }, waiter],
      });
      for (const caller of [first, second]) await caller.release();
      await writer.pushed();
      await writer.renew(20_000);
      const holder = { owner: writer.owner, label: 'the writer' };
      expect(await b.lockOf(key)).toMatchObject({ limit: 1, holders: [holder], waiters: [waiter] });
      await writer.release();
      await third.pushed();
      await third.renew(20_000);
      expect((await third.stored())?.label).toBe('a reader');
      await third.release();
      expect(await b.lockOf(key)).toBeNull();
    });
  });
}
