import { STRICT_RULES } from '../history-checker.mjs';

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
        'engine/lease/cohort-budget.js',
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
    changes: [['engine/lease/cohort-budget.js', (source) => source.replace('this.nextToken += 1', '')]],
    run: { options: { faults: false } },
  },
};
