import { describe, expect, it } from '@jest/globals';
import type { ContractContext } from './contract-context.js';
import { crowd, PortCaller, stand } from './port-callers.js';

/** Limits that conflict with the first limit of each row. */
const conflicts = [
  [3, 1],
  [3, 5],
  [5, 3],
  [3, Infinity],
  [1, 3],
  [Infinity, 3],
] as const;

/** Replies of the port to callers of a key whose limits conflict. */
export function conflictRules(context: ContractContext): void {
  describe('the port, for conflicting limits', () => {
    for (const [theirs, limit] of conflicts) {
      it(`a request with limit ${limit} for a lock held with ${theirs} is rejected with that limit and gets no queue position`, async () => {
        const [a, b] = await context.clients(2);
        const key = context.key();
        const holder = new PortCaller(a, key, { limit: theirs });
        const odd = new PortCaller(b, key, { limit });
        const token = await holder.hold();
        for (const settings of [{}, { wait: true }, { wait: true, contended: true }, { wait: true }]) {
          expect(await odd.newcomer(settings)).toEqual({ outcome: 'conflict', limit: theirs });
        }
        await stand([holder]);
        expect(await holder.renew(20_000)).toBe('renewed');
        expect(await holder.acquire()).toMatchObject({ outcome: 'granted', token });
        const behind = new PortCaller(b, key, { limit: theirs });
        if (theirs === 1) await behind.queue();
        else await behind.hold();
        expect(await odd.newcomer({ wait: true })).toEqual({ outcome: 'conflict', limit: theirs });
        for (const caller of [holder, behind]) await caller.cancel();
        expect(b.grants.filter(({ owner }) => owner !== behind.owner)).toEqual([]);
        // Without holders and waiters there is no conflict.
        await odd.hold();
        await odd.release();
      });
    }

    for (const [theirs, limit] of conflicts) {
      it(`a request with limit ${limit} for a free lock with waiters of limit ${theirs} is rejected with that limit`, async () => {
        const clients = await context.clients(2);
        const key = context.key();
        const callers = crowd(6, clients, key, { limit: theirs === Infinity ? 1 : theirs });
        const places = theirs === Infinity ? 1 : theirs;
        const [holders, waiter] = [
          callers.slice(0, places),
          new PortCaller(clients[1], key, { limit: theirs }),
        ];
        for (const caller of holders) await caller.hold();
        await waiter.queue();
        for (const caller of holders) await caller.expire();
        const odd = new PortCaller(clients[0], key, { limit });
        for (const settings of [{}, { wait: true }, { wait: true, contended: true }]) {
          expect(await odd.newcomer(settings)).toEqual({ outcome: 'conflict', limit: theirs });
        }
        await waiter.obtain();
        await stand([waiter]);
        await waiter.release();
        expect(clients[0].grants).toEqual([]);
      });
    }

    it('readers and writers never conflict, whether they hold or wait', async () => {
      const [a, b] = await context.clients(2);
      const key = context.key();
      const [writer, other] = crowd(2, [a, b], key);
      const reader = new PortCaller(b, key, { limit: Infinity });
      await writer.hold();
      expect(await reader.newcomer()).toMatchObject({ outcome: 'busy' });
      for (const caller of [reader, other]) await caller.queue();
      await writer.release();
      await reader.pushed();
      expect(await writer.newcomer()).toMatchObject({ outcome: 'busy' });
      await reader.release();
      await other.pushed();
      await other.release();
    });
  });
}
