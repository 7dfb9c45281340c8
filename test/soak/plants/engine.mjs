import { RULES_WITH_FAULTS, STRICT_RULES } from '../history-checker.mjs';

/** Who waits does not ask again from time to time. */
export const WITHOUT_POLLS = [
  'engine/key-runner.js',
  (source) => source.replace(/Math\.min\(expiry, [\w.]*POLL\)/, '1e9'),
];

/** Surroundings in which a lock that is left lying shows soon. */
export const MANY_KEYS = {
  // So many locks that nobody else's request happens to wake those who were forgotten.
  options: { processes: 2, callers: 40, keys: 600 },
  // Nothing takes longer here than a poll.
  rules: { ...RULES_WITH_FAULTS, idleness: 1_300 },
};

/** @param {string} pushes what the server calls that which it tells without being asked */
export const noPoll = (pushes) => ({
  about: 'who waits does not ask again from time to time: whoever was not told once never hears of it',
  finds: ['left-lying', 'free-in-vain'],
  changes: [WITHOUT_POLLS],
  run: { only: [`${pushes} dropped`], ...MANY_KEYS },
});

/** They don't depend on where the locks are. */
export const enginePlants = {
  'deadline-after-reply': {
    about: 'the local deadline counts from the reply instead of from before the request',
    finds: ['overlap'],
    changes: [
      [
        'common/clock.js',
        (source) =>
          source.replace(/function deadlineOf\((\w+), \w+\) \{/, '$& $1 = Math.max($1, performance.now());'),
      ],
    ],
    run: { only: ['replies held'] },
  },
  'endless-turn': {
    about: 'callers of one process pass the lock on among themselves for as long as they like',
    finds: ['overtaken'],
    changes: [
      [
        'engine/key-machine/hand-over-budget.js',
        (source) =>
          source
            .replace('this.handOvers += 1', '')
            .replace('MAX_LOCAL_TENURE = 50', 'MAX_LOCAL_TENURE = 1e9'),
      ],
    ],
    run: {
      options: { faults: false, callers: 60, processes: 2, plain: true },
      // Of two processes neither has a place before the other's while it holds the lock: one turn and a bit.
      rules: { ...STRICT_RULES, turn: 45 },
    },
  },
  'token-handed-on': {
    about: 'who gets the lock from a caller of the same process gets its token, too',
    finds: ['token-repeated'],
    changes: [
      ['engine/key-machine/hand-over-budget.js', (source) => source.replace('this.nextToken += 1', '')],
    ],
    run: { options: { faults: false } },
  },
};
