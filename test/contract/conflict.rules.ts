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
  });
}
