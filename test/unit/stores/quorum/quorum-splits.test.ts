import { afterEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { OwnerId } from '../../../../lib/stores/port/index.js';
import { votesNeeded } from '../../../../lib/stores/quorum/majority.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { PortClient } from '../../../contract/port-client.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { MemberUnderControl } from '../../../support/member-under-control.js';
import { SharingWitness } from '../../../support/sharing-witness.js';
import { elapse, until, within } from '../../../support/until.js';

inVirtualTime();

const KEY = 'key';

/** What fast-check varies: everything that is random in production. */
const chance = {
  majority: fc.integer({ min: 1, max: 3 }),
  missing: fc.constantFrom(0, 0, 1, 2),
  condition: fc.constantFrom('down' as const, 'silent' as const),
  /** ms that consecutive requests to a member take. */
  ways: fc.array(fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 3, maxLength: 7 }), {
    minLength: 5,
    maxLength: 5,
  }),
  chances: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 11, maxLength: 11 }),
};
/** Of one key: exclusive callers, readers and writers, or requests for different numbers of permits. */
const races = fc.constantFrom(1, 1, Infinity, 2, 3, 4, 5).chain((limit) =>
  fc.record({
    ...chance,
    limit: fc.constant(limit),
    racers: fc.array(
      fc.record({
        lease: fc.constantFrom(120, 400, 20_000),
        permits: fc.integer({ min: 1, max: limit === Infinity ? 1 : limit }),
        isWriter: fc.boolean(),
      }),
      { minLength: 2, maxLength: 8 },
    ),
  }),
);

type Race = typeof races extends fc.Arbitrary<infer T> ? T : never;

interface Racer {
  readonly lease: number;
  readonly limit: number;
  readonly permits: number;
}

describe('splits of a quorum', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const inTurn = <T>(values: readonly T[]): (() => T) => {
    let turn = 0;
    return () => values[turn++ % values.length] as T; // there is at least one
  };

  /** Waits like the engine, and holds the lock for a moment. */
  async function runOne(client: PortClient, racer: Racer, section: SharingWitness): Promise<void> {
    const { lease, limit, permits } = racer;
    const owner: OwnerId = client.newOwner();
    const terms = { wait: true, lease, claimLease: Math.min(lease, 2_000), limit, permits };
    for (;;) {
      const known = client.grants.length;
      const reply = await client.acquire(KEY, owner, terms);
      if (reply.outcome === 'granted') break;
      if (reply.outcome === 'conflict') throw new Error(`in conflict with ${reply.limit}`);
      const asksAgainAt = performance.now() + 200;
      while (client.grants.length === known && performance.now() < asksAgainAt) await elapse(1);
      const grant = client.grants[known];
      if (grant !== undefined && grant.startedAt + grant.lease * 0.99 > performance.now() + 20) break;
    }
    section.enter(limit, permits);
    await elapse(2);
    section.leave(limit, permits);
    await client.release(KEY, owner);
  }

  /** Runs all of them at once on a quorum that follows the schedule. */
  async function raceAll({ majority, missing, condition, ways, chances, ...race }: Race): Promise<void> {
    const racers = race.racers.map(({ lease, permits, isWriter }): Racer => {
      return { lease, permits, limit: isWriter && race.limit === Infinity ? 1 : race.limit };
    });
    const section = new SharingWitness();
    jest.spyOn(Math, 'random').mockImplementation(inTurn(chances));
    const members = Array.from({ length: 2 * majority - 1 }, (_, index) => new MemberUnderControl(index));
    const store = new QuorumLockStore(members);
    const clients = await Promise.all(racers.map(() => PortClient.open(store)));
    for (const [index, member] of members.entries()) {
      const pause = inTurn(ways[index] ?? [0]);
      member.way = () => elapse(pause());
    }
    const needed = Math.max(...racers.map(({ limit }) => votesNeeded(members.length, limit)));
    for (const member of members.slice(0, Math.min(missing, members.length - needed))) {
      member.condition = condition;
    }
    const all = racers.map((racer, index) => {
      const client = clients[index];
      return client === undefined ? Promise.resolve() : runOne(client, racer, section);
    });
    await within(8_000, 'all of them', Promise.all(all));
    expect(section.findings).toEqual([]);
    for (const member of members) {
      if (member.condition !== 'up') continue;
      const solo = await PortClient.open(member);
      await until('it is free', async () => (await solo.lockOf(KEY)) === null);
      expect(await solo.acquire(KEY, solo.newOwner())).toMatchObject({ outcome: 'granted' });
    }
    await Promise.all(clients.map((client) => client.close()));
  }

  it('P42, B13, B58: in any order and with any delays, conflicting holders exclude each other, all callers are served, and nothing is left', async () => {
    await fc.assert(fc.asyncProperty(races, raceAll), {
      numRuns: 95,
      endOnFailure: true,
      examples: [
        // Two readers have some members each, and a writer without any is queued before them at the others.
        [
          {
            majority: 3,
            missing: 2,
            condition: 'silent',
            ways: [
              [7, 6, 9, 11, 6],
              [8, 10, 4, 11, 8, 1],
              [10, 12, 0, 12, 1, 3, 8],
              [7, 2, 2, 9, 0, 8],
              [12, 8, 1, 10],
            ],
            chances: [0, 0, 0.99, 0, 0, 0, 0, 0, 0.99, 0, 0],
            limit: Infinity,
            racers: [
              { lease: 20_000, permits: 1, isWriter: false },
              { lease: 20_000, permits: 1, isWriter: true },
              { lease: 20_000, permits: 1, isWriter: false },
              { lease: 120, permits: 1, isWriter: false },
              { lease: 20_000, permits: 1, isWriter: false },
              { lease: 20_000, permits: 1, isWriter: false },
            ],
          },
        ],
        // An inspection that waits for the member without replies takes longer than the grants last.
        [
          {
            majority: 2,
            missing: 1,
            condition: 'silent',
            ways: [
              [2, 11, 10],
              [3, 0, 3, 8, 3, 8, 8],
              [0, 1, 12, 2],
              [10, 9, 5, 8],
              [8, 7, 0, 7, 1],
            ],
            chances: [0, 0, 0, 0, 0, 0, 0, 0.99, 0, 0, 0],
            limit: 1,
            racers: [
              { lease: 120, permits: 1, isWriter: false },
              { lease: 120, permits: 1, isWriter: false },
            ],
          },
        ],
      ],
    });
  });
});
