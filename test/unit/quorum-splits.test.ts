import { afterEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { OwnerId } from '../../lib/index.js';
import { QuorumLockStore } from '../../lib/stores/quorum/quorum-lock-store.js';
import { PortClient } from '../contract/port-client.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { MemberUnderControl } from '../support/member-under-control.js';
import { elapse, until, within } from '../support/until.js';

const KEY = 'key';

/** What fast-check decides about: everything that chance decides in the field. */
const schedules = fc.record({
  majority: fc.integer({ min: 1, max: 3 }),
  racers: fc.array(fc.constantFrom(120, 400, 20_000), { minLength: 2, maxLength: 7 }),
  missing: fc.constantFrom(0, 0, 1, 2),
  condition: fc.constantFrom('down' as const, 'silent' as const),
  /** ms that the requests to a member take, in turn. */
  ways: fc.array(fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 3, maxLength: 7 }), {
    minLength: 5,
    maxLength: 5,
  }),
  chances: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 11, maxLength: 11 }),
});

describe('splits of a quorum', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const inTurn = <T>(values: readonly T[]): (() => T) => {
    let turn = 0;
    return () => values[turn++ % values.length] as T; // there is at least one
  };

  /** Waits as the engine does, and holds the lock for a moment. */
  async function race(
    racer: PortClient,
    owner: OwnerId,
    lease: number,
    witness: ExclusionWitness,
  ): Promise<void> {
    for (;;) {
      const heard = racer.grants.length;
      const reply = await racer.ask(KEY, owner, { wait: true, lease, claimLease: Math.min(lease, 2_000) });
      if (reply.outcome === 'granted') break;
      const asksAgainAt = performance.now() + 200;
      while (racer.grants.length === heard && performance.now() < asksAgainAt) await elapse(1);
      const grant = racer.grants[heard];
      if (grant !== undefined && grant.startedAt + grant.lease * 0.99 > performance.now() + 20) break;
    }
    witness.enter();
    await elapse(2);
    witness.leave();
    await racer.release(KEY, owner);
  }

  it('P42, B13: whatever the orders and delays, all are served, one at a time, and nothing is left', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ({ majority, racers, missing, condition, ways, chances }) => {
        const chance = inTurn(chances);
        jest.spyOn(Math, 'random').mockImplementation(chance);
        const count = 2 * majority - 1;
        const members = Array.from({ length: count }, (_, index) => new MemberUnderControl(index));
        const store = new QuorumLockStore(members);
        const clients = await Promise.all(racers.map(() => PortClient.open(store)));
        for (const [index, member] of members.entries()) {
          const pause = inTurn(ways[index] ?? [0]);
          member.way = () => elapse(pause());
        }
        for (const member of members.slice(0, Math.min(missing, majority - 1))) member.condition = condition;
        const witness = new ExclusionWitness();
        const all = clients.map((client, index) =>
          race(client, client.newOwner(), racers[index] ?? 20_000, witness),
        );
        await within(8_000, 'all of them', Promise.all(all));
        expect(witness.most).toBe(1);
        for (const member of members) {
          if (member.condition !== 'up') continue;
          const solo = await PortClient.open(member);
          await until('it is free', async () => (await solo.inspect(KEY)) === null);
          expect(await solo.ask(KEY, solo.newOwner())).toMatchObject({ outcome: 'granted' });
        }
        await Promise.all(clients.map((client) => client.close()));
      }),
      {
        numRuns: 25,
        endOnFailure: true,
        // A look that waits for the silent member takes longer than the grants last.
        examples: [
          [
            {
              majority: 2,
              racers: [120, 120],
              missing: 1 as const,
              condition: 'silent' as const,
              ways: [
                [2, 11, 10],
                [3, 0, 3, 8, 3, 8, 8],
                [0, 1, 12, 2],
                [10, 9, 5, 8],
                [8, 7, 0, 7, 1],
              ],
              chances: [0, 0, 0, 0, 0, 0, 0, 0.99, 0, 0, 0],
            },
          ],
        ],
      },
    );
  }, 120_000);
});
