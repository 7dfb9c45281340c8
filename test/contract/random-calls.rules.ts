import { describe, expect, it } from '@jest/globals';
import { LateAnswersStore } from '../support/late-answers.js';
import type { LockApp } from '../support/lock-app.js';
import { within } from '../support/until.js';
import { VirtualTime } from '../support/virtual-time.js';
import { Random } from '../soak/random.mjs';
import type { CallHistory } from './call-history.js';
import { CallRun, type CallMix } from './call-run.js';
import type { ContractContext } from './contract-context.js';

const CALLS = 40;
/** State kept for a reply must not be kept longer than this, ms. */
const VERY_LATE = 5_000;
const ending = { shutdownTimeout: 10_000 };

/** The longest time for which the lock may be free with a waiter, ms: far more than a reply or a push needs, far less than a lease. */
const LONGEST_GAP = 800;
/** How often a waiter asks again, ms. */
const POLL = 1_000;

const mixes: Record<string, CallMix> = {
  'exclusive locks': { limits: [1], fair: 0.2 },
  'exclusive locks, strictly in order': { limits: [1], fair: 1, isPatient: true },
  'readers and writers': { limits: [Infinity, Infinity, 1], fair: 0.1 },
  'readers and writers, strictly in order': { limits: [Infinity, 1], fair: 1, isPatient: true },
  'three permits': { limits: [3], fair: 0.2 },
  'one to five of five permits': { limits: [5], permits: [1, 1, 1, 2, 3, 5], fair: 0.2 },
  'two permits, strictly in order': { limits: [2], fair: 1, isPatient: true },
  'three permits and callers with other limits': {
    limits: [3, 3, 3, 3, 3, 3, 1, 5, Infinity],
    fair: 0.1,
    isMixed: true,
  },
  'exclusive locks and callers with other limits': {
    limits: [1, 1, 1, 1, 1, 1, 3, 5, Infinity],
    fair: 0.1,
    isMixed: true,
  },
};

/**
 * Invariants for callers whose options are random, except those on which the callers of a key must agree.
 *
 * @param rounds of each mix
 */
export function randomCallRules(context: ContractContext, rounds: number): void {
  describe('callers at random', () => {
    /** Three applications, optionally with late replies at times. */
    const fleet = async (
      random: Random | undefined,
      isMixed: boolean,
      requested: (limit: number) => () => void,
    ): Promise<readonly LockApp[]> => {
      if (random === undefined && !isMixed) return await context.fleet(3, ending);
      const lateness = (request: string): number => {
        if (random === undefined) return 0;
        if (request === 'reserve' && random.chance(0.2)) return VERY_LATE;
        return random.chance(0.3) ? random.between(1, 120) : 0;
      };
      const store = (): LateAnswersStore => new LateAnswersStore(context.store.port(), lateness, requested);
      return await Promise.all([1, 2, 3].map(() => context.app({ ...ending, store: store() })));
    };

    const check = async (mix: CallMix, isLate: boolean): Promise<void> => {
      const { store } = context;
      const isTimed = VirtualTime.current !== undefined && !store.isDecidedByVotes;
      const random = isLate ? new Random(1) : undefined;
      let current: CallHistory | undefined;
      const requested = (limit: number): (() => void) => current?.requested(limit) ?? (() => {});
      const start = (): Promise<readonly LockApp[]> => fleet(random, mix.isMixed === true, requested);
      let apps = await start();
      for (let round = 0; round < rounds; round++) {
        if (mix.isClosed === true && round > 0) apps = await start();
        const run = new CallRun(context.key(), apps, mix, store);
        const { seed, history } = run;
        current = history;
        await within(300_000, `everybody, seed ${seed}`, run.take(CALLS));
        // An ordered store may serve a waiter only when it polls.
        const longestGap = store.boundsLeasesOfOthers === true ? LONGEST_GAP + POLL : LONGEST_GAP;
        const isCalm = mix.isBroken !== true && mix.isClosed !== true;
        // Tickets of callers that may hold together are served side by side, each by its own request.
        const isOrdered = isTimed && isCalm && !isLate && mix.limits.every((limit) => limit === 1);
        const found = {
          exclusion: history.exclusion(),
          tokens: history.tokens(!store.isDecidedByVotes),
          forgotten: history.forgotten(),
          unfounded: history.unfounded(store.isDecidedByVotes),
          minimum: isTimed && isCalm ? history.minimum() : [],
          orderInApps: isOrdered ? history.orderInApps() : [],
          orderOverApps: isOrdered && mix.isPatient === true ? history.orderOverApps() : [],
          gap: isTimed && isCalm ? Math.floor(history.longestGap() / (longestGap + 8 * store.delay)) : 0,
        };

        expect({ seed, ...found }).toEqual({
          seed,
          exclusion: [],
          tokens: [],
          forgotten: [],
          unfounded: [],
          minimum: [],
          orderInApps: [],
          orderOverApps: [],
          gap: 0,
        });
        expect(history.served.length).toBeGreaterThan(0);
        await context.nothingLeft(`seed ${seed}`);
      }
    };

    for (const [name, mix] of Object.entries(mixes)) {
      it(`B13, B16: ${name}: no caller breaks exclusion, overtakes or is forgotten`, () => check(mix, false));
      it(`B13, B16: ${name}: the same with late replies`, () => check(mix, true));
      it(`B13, B16: ${name}: the same with forced releases`, () => check({ ...mix, isBroken: true }, false));
      it(`B13, B60: ${name}: the same when an application closes`, () =>
        check({ ...mix, isClosed: true }, false));
    }
  });
}
