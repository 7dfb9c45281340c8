import { afterEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { OwnerId } from '../../../../lib/stores/port/index.js';
import { votesNeeded } from '../../../../lib/stores/quorum/majority.js';
import { QuorumLockStore } from '../../../../lib/stores/quorum/quorum-lock-store.js';
import { PortClient } from '../../../contract/port-client.js';
import { ExclusionWitness } from '../../../support/exclusion-witness.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { MemberUnderControl } from '../../../support/member-under-control.js';
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
const leases = fc.constantFrom(120, 400, 20_000);
const exclusive = fc.record({ ...chance, racers: fc.array(leases, { minLength: 2, maxLength: 7 }) });
/** Readers and writers, or a semaphore for all. */
const shared = fc.record({
  ...chance,
  limit: fc.constantFrom(Infinity, Infinity, 2, 3),
  racers: fc.array(fc.record({ lease: leases, isWriter: fc.boolean() }), { minLength: 3, maxLength: 8 }),
});

/** Requests for different numbers of permits. */
const permits = fc.integer({ min: 2, max: 5 }).chain((limit) =>
  fc.record({
    ...chance,
    limit: fc.constant(limit),
    racers: fc.array(fc.record({ lease: leases, permits: fc.integer({ min: 1, max: limit }) }), {
      minLength: 3,
      maxLength: 8,
    }),
  }),
);

type Chance = typeof exclusive extends fc.Arbitrary<infer T> ? Omit<T, 'racers'> : never;

interface Racer {
  readonly lease: number;
  readonly limit: number;
  readonly permits?: number;
  /** Entered while it holds the lock. */
  readonly section: Pick<ExclusionWitness, 'enter' | 'leave'>;
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
  async function race(client: PortClient, { lease, limit, permits = 1, section }: Racer): Promise<void> {
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
    section.enter();
    await elapse(2);
    section.leave();
    await client.release(KEY, owner);
  }

  /** Runs all of them at once on a quorum that follows the schedule. */
  async function raceAll(racers: readonly Racer[], schedule: Chance): Promise<void> {
    const { majority, missing, condition, ways, chances } = schedule;
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
      return client === undefined ? Promise.resolve() : race(client, racer);
    });
    await within(8_000, 'all of them', Promise.all(all));
    for (const member of members) {
      if (member.condition !== 'up') continue;
      const solo = await PortClient.open(member);
      await until('it is free', async () => (await solo.lockOf(KEY)) === null);
      expect(await solo.acquire(KEY, solo.newOwner())).toMatchObject({ outcome: 'granted' });
    }
    await Promise.all(clients.map((client) => client.close()));
  }

  it('P42: permits and read locks exclude conflicting holders, all callers are served, and nothing is left', async () => {
    await fc.assert(
      fc.asyncProperty(shared, async ({ limit, racers, ...schedule }) => {
        const [whole, shares] = [new ExclusionWitness(), new ExclusionWitness()];
        const meeting: string[] = [];
        const enter = (mine: ExclusionWitness, others: ExclusionWitness): void => {
          mine.enter();
          if (others.now > 0) meeting.push(`${mine.now} beside ${others.now}`);
        };
        const readers = { enter: () => enter(shares, whole), leave: () => shares.leave() };
        const writers = { enter: () => enter(whole, shares), leave: () => whole.leave() };
        const all = racers.map(({ lease, isWriter }): Racer => {
          if (limit === Infinity && isWriter) return { lease, limit: 1, section: writers };
          return { lease, limit, section: readers };
        });
        await raceAll(all, schedule);
        expect(meeting).toEqual([]);
        expect(whole.most).toBeLessThanOrEqual(1);
        expect(shares.most).toBeLessThanOrEqual(limit);
      }),
      {
        numRuns: 30,
        endOnFailure: true,
        // Two readers have some members each, and a writer without any is queued before them at the others.
        examples: [
          [
            {
              majority: 3,
              missing: 2 as const,
              condition: 'silent' as const,
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
                { lease: 20_000, isWriter: false },
                { lease: 20_000, isWriter: true },
                { lease: 20_000, isWriter: false },
                { lease: 120, isWriter: false },
                { lease: 20_000, isWriter: false },
                { lease: 20_000, isWriter: false },
              ],
            },
          ],
        ],
      },
    );
  });

  it('B58: any numbers of permits never exceed the limit together, all callers are served, and nothing is left', async () => {
    await fc.assert(
      fc.asyncProperty(permits, async ({ limit, racers, ...schedule }) => {
        let [held, most] = [0, 0];
        const all = racers.map((racer): Racer => {
          const enter = (): void => void (most = Math.max(most, (held += racer.permits)));
          const leave = (): void => void (held -= racer.permits);
          return { ...racer, limit, section: { enter, leave } };
        });
        await raceAll(all, schedule);
        expect(most).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });

  it('P42, B13: with any orders and delays all callers are served, one at a time, and nothing is left', async () => {
    await fc.assert(
      fc.asyncProperty(exclusive, async ({ racers, ...schedule }) => {
        const section = new ExclusionWitness();
        await raceAll(
          racers.map((lease) => ({ lease, limit: 1, section })),
          schedule,
        );
        expect(section.most).toBe(1);
      }),
      {
        numRuns: 25,
        endOnFailure: true,
        // An inspection that waits for the member without replies takes longer than the grants last.
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
  });
});
