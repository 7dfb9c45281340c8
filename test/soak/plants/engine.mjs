import { RULES_WITH_FAULTS, STRICT_RULES } from '../history-checker.mjs';

/** Waiters do not poll. */
export const WITHOUT_POLLS = ['engine/line.js', /Math\.min\(expiry, [\w.]*POLL\)/, '1e9'];

/** With these settings a lock that stays free is found soon. */
export const MANY_KEYS = {
  // So many keys that requests of other callers rarely wake a forgotten waiter.
  options: { processes: 2, callers: 40, keys: 600 },
  // Nothing takes longer than a poll in such a run.
  rules: { ...RULES_WITH_FAULTS, idleness: 1_300 },
};

/** @param {string} pushes the server's term for pushed messages */
export const noPoll = (pushes) => ({
  about: 'waiters do not poll: one that misses a notification never gets the lock',
  finds: ['left-lying', 'free-in-vain'],
  changes: [WITHOUT_POLLS],
  run: { only: [`${pushes} dropped`], ...MANY_KEYS },
});

const TURN = 'engine/turn.js';

/** Bugs that are independent of the store. */
export const enginePlants = {
  'deadline-after-reply': {
    about: 'the local deadline is measured from the reply instead of from before the request',
    finds: ['overlap'],
    changes: [
      ['common/clock.js', /function deadlineOf\((\w+), \w+\) \{/, '$& $1 = Math.max($1, performance.now());'],
    ],
    run: { only: ['replies held'] },
  },
  'endless-turn': {
    about: 'callers of one process hand the lock over without a bound',
    finds: ['overtaken'],
    changes: [
      [TURN, 'this.handOvers += 1', ''],
      [TURN, 'TENURE = 50', 'TENURE = 1e9'],
    ],
    run: {
      options: { faults: false, callers: 60, processes: 2, plain: true },
      // A process that holds the lock is not queued before the other one: at most one turn and a bit.
      rules: { ...STRICT_RULES, turn: 45 },
    },
  },
  'token-handed-on': {
    about: 'a hand-over inside the process passes the token on, too',
    finds: ['token-repeated'],
    changes: [[TURN, 'this.nextToken += 1', '']],
    run: { options: { faults: false } },
  },
};
