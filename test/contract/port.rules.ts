import { afterEach, describe, expect, it } from '@jest/globals';
import { elapse, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import { PortClient } from './port-client.js';

const waiting = { wait: true };

/** What the engine requires of the port: requests that are duplicated, late or cancelled. */
export function portRules(context: ContractContext): void {
  describe('the port', () => {
    const clients: PortClient[] = [];
    const client = async (): Promise<PortClient> => {
      const opened = await PortClient.open(context.store.port(), context.store);
      clients.push(opened);
      return opened;
    };
    afterEach(async () => {
      await Promise.all(clients.splice(0).map((opened) => opened.close()));
    });

    it('P30: asking twice with one owner is one grant', async () => {
      const [a, b] = [await client(), await client()];
      const key = context.key();
      const owner = a.newOwner();
      const token = await a.take(key, owner);
      expect(await a.acquire(key, owner)).toMatchObject({ outcome: 'granted', token });
      expect(await a.acquire(key, owner, waiting)).toMatchObject({ outcome: 'granted', token });
      expect(await a.acquire(key, a.newOwner())).toMatchObject({ outcome: 'busy' });
      expect(await b.acquire(key, b.newOwner())).toMatchObject({ outcome: 'busy' });
      expect(await a.release(key, owner)).toBe('released');
      expect(await b.inspect(key)).toBeNull();
      await context.nothingLeft();
    });

    it('P30: releasing twice, or as another owner, affects no other owner', async () => {
      const [a, b] = [await client(), await client()];
      const key = context.key();
      const [first, second] = [a.newOwner(), b.newOwner()];
      await a.take(key, first);
      expect(await b.release(key, second)).toBe('not-held');
      expect(await a.release(key, first)).toBe('released');
      await b.take(key, second);
      expect(await a.release(key, first)).toBe('not-held');
      await a.cancel(key, first);
      expect(await b.renew({ key, owner: second, lease: 20_000 })).toEqual(['renewed']);
      await b.release(key, second);
      await context.nothingLeft();
    });

    context.itOfAllKinds(
      'P32, P33: a release in doubt removes the queue entry that a late request of its owner created',
      async () => {
        const [a, b, c] = [await client(), await client(), await client()];
        const key = context.key();
        const [holder, late, next] = [a.newOwner(), b.newOwner(), c.newOwner()];
        await a.take(key, holder);
        await b.acquire(key, late, waiting);
        await c.acquire(key, next, waiting);
        expect(await b.release(key, late, true)).toBe('not-held');
        expect((await a.inspect(key))?.waiting).toBe(1);
        await a.release(key, holder);
        expect((await a.inspect(key))?.owner).toBe(next);
        await c.release(key, next);
        await context.nothingLeft();
      },
    );

    context.itOfAllKinds(
      'P30, P10: asking again keeps the queue position, and a grant is pushed once to the first',
      async () => {
        const [a, b, c] = [await client(), await client(), await client()];
        const key = context.key();
        const [holder, first, second] = [a.newOwner(), b.newOwner(), c.newOwner()];
        const token = await a.take(key, holder);
        expect(await b.acquire(key, first, waiting)).toMatchObject({ outcome: 'queued' });
        expect(await c.acquire(key, second, waiting)).toMatchObject({ outcome: 'queued' });
        await b.acquire(key, first, waiting);
        await b.acquire(key, first, waiting);
        expect((await a.inspect(key))?.waiting).toBe(2);
        await a.release(key, holder);
        const grant = await b.granted(first);
        expect(grant.token).toBeGreaterThan(token);
        expect(grant.startedAt).toBeLessThanOrEqual(performance.now());
        expect(grant.lease).toBe(2_000);
        expect(await b.acquire(key, first, waiting)).toMatchObject({
          outcome: 'granted',
          token: grant.token,
        });
        await b.release(key, first);
        await c.granted(second);
        expect(b.grants).toHaveLength(1);
        await c.release(key, second);
        await context.nothingLeft();
      },
    );

    context.itOfAllKinds('P11: the first waiter is served before a newcomer', async () => {
      const [a, b, c] = [await client(), await client(), await client()];
      const key = context.key();
      await a.take(key, a.newOwner(), 300);
      const first = b.newOwner();
      await b.acquire(key, first, waiting);
      await elapse(320);
      // The lease expired without a release: the next request finds the lock free and the queue not empty (P16).
      expect(await c.acquire(key, c.newOwner())).toMatchObject({ outcome: 'busy' });
      await b.granted(first);
      await b.release(key, first);
      await context.nothingLeft();
    });

    it('P12: a pushed grant that is not claimed expires after its claim lease; a claimed one lives on', async () => {
      const [a, b, c] = [await client(), await client(), await client()];
      const key = context.key();
      const [holder, silent, next] = [a.newOwner(), b.newOwner(), c.newOwner()];
      await a.take(key, holder);
      await b.acquire(key, silent, { wait: true, claimLease: 300 });
      await a.release(key, holder);
      await b.granted(silent);
      await elapse(320);
      expect(await b.renew({ key, owner: silent, lease: 20_000 })).toEqual(['gone']);

      const second = a.newOwner();
      await a.take(key, second);
      await c.acquire(key, next, { wait: true, claimLease: 2_000 });
      await a.release(key, second);
      await c.granted(next);
      expect((await a.inspect(key))?.leaseLeft).toBeLessThanOrEqual(2_000);
      expect(await c.renew({ key, owner: next, lease: 20_000 })).toEqual(['renewed']);
      expect((await a.inspect(key))?.leaseLeft).toBeGreaterThan(10_000);
      await c.release(key, next);
      await context.nothingLeft();
    });

    context.itOfAllKinds(
      'P15: a waiter that misses three polls is skipped; one that keeps polling is not',
      async () => {
        const [a, b, c] = [await client(), await client(), await client()];
        const key = context.key();
        const [holder, silent, living] = [a.newOwner(), b.newOwner(), c.newOwner()];
        await a.take(key, holder);
        await b.acquire(key, silent, waiting);
        for (const silentSince = performance.now(); performance.now() - silentSince < 3_010;) {
          await c.acquire(key, living, waiting);
          await elapse(500);
        }
        await c.acquire(key, living, waiting);
        await a.release(key, holder);
        await c.granted(living);
        expect(b.grants).toEqual([]);
        await c.release(key, living);
        await context.nothingLeft();
      },
    );

    it('P32: a cancel in doubt blocks a late request, where requests can be late', async () => {
      if (!context.store.canBeLate) return;
      const [a, b] = [await client(), await client()];
      const key = context.key();
      const late = a.newOwner();
      await a.cancel(key, late, true);
      expect(await a.acquire(key, late)).toEqual({ outcome: 'cancelled' });
      expect(await a.acquire(key, late, waiting)).toEqual({ outcome: 'cancelled' });
      const owner = b.newOwner();
      await b.take(key, owner);
      expect(await a.acquire(key, late, waiting)).toEqual({ outcome: 'cancelled' });
      await b.release(key, owner);
      expect(a.grants).toEqual([]);
      expect(await b.inspect(key)).toBeNull();
    });

    it('P32: a release in doubt blocks a late request, where requests can be late', async () => {
      if (!context.store.canBeLate) return;
      const a = await client();
      const key = context.key();
      const owner = a.newOwner();
      await a.take(key, owner);
      expect(await a.release(key, owner, true)).toBe('released');
      expect(await a.acquire(key, owner)).toEqual({ outcome: 'cancelled' });
      expect(await a.inspect(key)).toBeNull();
    });

    it('P32: cancel removes an owner in any state, and the next waiter is served', async () => {
      const [a, b, c] = [await client(), await client(), await client()];
      const key = context.key();
      const [holder, queued, next] = [a.newOwner(), b.newOwner(), c.newOwner()];
      await a.take(key, holder);
      await b.acquire(key, queued, waiting);
      await c.acquire(key, next, waiting);
      await b.cancel(key, queued);
      await b.cancel(key, queued);
      await a.cancel(key, holder);
      await c.granted(next);
      expect(b.grants).toEqual([]);
      await c.cancel(key, next);
      expect(await a.inspect(key)).toBeNull();
      await context.nothingLeft();
    });

    it('P34: a renewal never creates or shortens a lease, and replies for each', async () => {
      const [a, b] = [await client(), await client()];
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
      await context.nothingLeft();
    });

    it('notifies a subscribed client that its lock was broken', async () => {
      const [a, b, c] = [await client(), await client(), await client()];
      const nextKey = context.keysTogether();
      const [key, other] = [nextKey(), nextKey()];
      const [owner, theirs] = [a.newOwner(), c.newOwner()];
      // A client that has waited once is subscribed for the locks of that place.
      await c.take(other, theirs);
      await a.acquire(other, a.newOwner(), waiting);
      await a.take(key, owner);
      expect(await b.forceRelease(key)).toBe(true);
      await until('it is notified', () => a.broken.includes(owner));
      expect(await b.forceRelease(key)).toBe(false);
    });

    it('a lease expires by the store’s own clock', async () => {
      const [a, b] = [await client(), await client()];
      const key = context.key();
      const start = performance.now();
      await a.take(key, a.newOwner(), 200);
      await until('it is free', async () => (await b.inspect(key)) === null);
      expect(performance.now() - start).toBeGreaterThanOrEqual(198);
      await context.nothingLeft();
    });
  });
}
