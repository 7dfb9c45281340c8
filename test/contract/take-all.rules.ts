import { describe, expect, it } from '@jest/globals';
import type { Grant, OwnerId } from '../../lib/stores/port/index.js';
import type { ContractContext } from './contract-context.js';
import { PortCaller, portClients, stand } from './port-callers.js';
import type { AskSettings, PortClient } from './port-client.js';

function grantsIn(answer: readonly Grant[] | number | null): readonly Grant[] {
  if (answer === null || typeof answer === 'number') throw new Error('nothing was granted');
  return answer;
}

/** What the port requires of acquiring several locks in one step, where the store supports it. */
export function takeAllRules(context: ContractContext): void {
  describe('the port, for several locks at once', () => {
    const open = portClients(context);
    /** A request for these keys, each with its own owner. */
    const requestOf = (
      client: PortClient,
      keys: readonly string[],
      settings: AskSettings = {},
    ): [string, OwnerId, AskSettings][] => keys.map((key) => [key, client.newOwner(), settings]);
    const threeKeys = (): [string, string, string] => {
      const nextKey = context.keysTogether();
      return [nextKey(), nextKey(), nextKey()];
    };

    it('B12: all are granted in order, each with its own owner, label and lease', async () => {
      const [a, b] = await open(2);
      const keys = threeKeys();
      const before = Date.now();
      const requests = requestOf(a, keys, { label: 'all of them', lease: 30_000 });
      const grants = await a.acquireAll(...requests);
      if (grants === undefined) return;
      expect(grants).toHaveLength(3);
      for (const [index, [key, owner]] of requests.entries()) {
        const { token, since = NaN } = grantsIn(grants)[index] ?? {};
        expect(since).toBeGreaterThanOrEqual(before - 1);
        const lock = await b.lockOf(key);
        expect(lock).toMatchObject({
          limit: 1,
          holders: [{ owner, token, label: 'all of them' }],
          waiters: [],
        });
        expect(lock?.holders[0]?.leaseLeft).toBeGreaterThan(25_000);
        expect(await b.acquire(key, b.newOwner())).toMatchObject({ outcome: 'busy' });
      }
      for (const [key, owner] of requests) {
        expect(await a.renew({ key, owner, lease: 40_000 })).toEqual(['renewed']);
        // A request for the single key finds the grant.
        expect(await a.acquire(key, owner)).toMatchObject({ outcome: 'granted' });
        expect(await a.release(key, owner)).toBe('released');
      }
      await context.nothingLeft();
    });

    it('B12, B16: tokens are larger than those before', async () => {
      const [a] = await open(1);
      const keys = threeKeys();
      const last = new Map<string, number>();
      for (let round = 0; round < 3; round++) {
        const requests = requestOf(a, keys, round === 1 ? { limit: 3 } : {});
        const grants = await a.acquireAll(...requests);
        if (grants === undefined) return;
        for (const [index, [key, owner]] of requests.entries()) {
          const token = grantsIn(grants)[index]?.token ?? NaN;
          expect(token).toBeGreaterThan(last.get(key) ?? 0);
          last.set(key, token);
          await a.release(key, owner);
        }
      }
      await context.nothingLeft();
    });

    it('B12: none is granted and nothing is written if one is held, has waiters or has a conflicting limit', async () => {
      const [a, b] = await open(2);
      const [before, key, after] = threeKeys();
      const isFree = async (): Promise<void> => {
        for (const free of [before, after]) expect(await b.lockOf(free)).toBeNull();
      };
      const acquiresNone = async (settings: AskSettings): Promise<boolean> => {
        const requests = requestOf(a, [before, key, after], settings);
        const grants = await a.acquireAll(...requests);
        if (grants === undefined) return false;
        // The number of grants is the index of the busy key.
        expect(grants).toBe(1);
        await isFree();
        for (const [of, owner] of requests) expect(await a.release(of, owner)).toBe('not-held');
        return true;
      };
      // Held, with the same or a conflicting limit.
      for (const limit of [1, Infinity, 1_000]) {
        const holder = new PortCaller(b, key, { limit });
        await holder.hold();
        for (const asked of [1, Infinity, 999]) {
          if (asked === limit && limit !== 1) continue;
          if (!(await acquiresNone({ limit: asked }))) return;
        }
        await stand([holder]);
        await holder.release();
      }
      // Full.
      const full = [1, 2].map(() => new PortCaller(b, key, { limit: 2 }));
      for (const caller of full) await caller.hold();
      await acquiresNone({ limit: 2 });
      for (const caller of full) await caller.release();
      // Held by readers, with a writer first in the queue.
      const [reader, writer] = [new PortCaller(b, key, { limit: Infinity }), new PortCaller(b, key)];
      await reader.hold();
      await writer.queue();
      await acquiresNone({ limit: Infinity });
      await reader.expire();
      // Free, but with a waiter.
      await acquiresNone({});
      expect(await writer.acquire({ wait: true })).toMatchObject({ outcome: 'granted' });
      await writer.release();
      await context.nothingLeft();
    });

    it('P32: none is granted if one of the owners is blocked, where requests can be late', async () => {
      if (!context.store.canBeLate) return;
      const [a, b] = await open(2);
      const requests = requestOf(a, threeKeys());
      const [, [key, owner] = ['', a.newOwner()]] = requests;
      await a.cancel(key, owner, true);
      const grants = await a.acquireAll(...requests);
      if (grants === undefined) return;
      expect(grants).toBe(1);
      for (const [free] of requests) expect(await b.lockOf(free)).toBeNull();
      await context.nothingLeft();
    });

    it('B12: permits are granted beside those of other owners while some are free', async () => {
      const [a, b] = await open(2);
      const keys = threeKeys();
      for (const limit of [2, Infinity]) {
        const [mine, theirs, tooMany] = [a, b, a].map((client) => requestOf(client, keys, { limit }));
        if (!mine || !theirs || !tooMany) throw new Error('there are three keys');
        const grants = await a.acquireAll(...mine);
        if (grants === undefined) return;
        expect(grants).toHaveLength(3);
        expect(await b.acquireAll(...theirs)).toHaveLength(3);
        for (const [index, key] of keys.entries()) {
          const owners = [mine[index]?.[1], theirs[index]?.[1]];
          const lock = await a.lockOf(key);
          expect(lock?.limit).toBe(limit);
          expect(lock?.holders.map(({ owner }) => owner)).toEqual(owners);
        }
        if (limit === 2) expect(await a.acquireAll(...tooMany)).toBe(0);
        for (const [key, owner] of mine) expect(await a.release(key, owner)).toBe('released');
        for (const [key, owner] of theirs) expect(await b.release(key, owner)).toBe('released');
      }
      await context.nothingLeft();
    });

    it('B12: an expired permit blocks no request', async () => {
      const [a, b] = await open(2);
      const [key, other] = threeKeys();
      const holder = new PortCaller(b, key, { limit: 5 });
      await holder.hold();
      await holder.expire();
      const requests = requestOf(a, [key, other]);
      const grants = await a.acquireAll(...requests);
      if (grants === undefined) return;
      expect(grants).toHaveLength(2);
      expect(await holder.release()).toBe('not-held');
      for (const [of, owner] of requests) expect(await a.release(of, owner)).toBe('released');
      await context.nothingLeft();
    });

    it('waiters for one of them are served when it is released', async () => {
      const [a, b] = await open(2);
      const keys = threeKeys();
      const requests = requestOf(a, keys);
      const grants = await a.acquireAll(...requests);
      if (grants === undefined) return;
      const waiter = new PortCaller(b, keys[1]);
      await waiter.queue();
      for (const [key, owner] of requests) await a.release(key, owner);
      await waiter.pushed();
      await waiter.release();
      await context.nothingLeft();
    });
  });
}
