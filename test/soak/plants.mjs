import { RULES_WITH_FAULTS, STRICT_RULES } from './history-checker.mjs';

const SCRIPTS = 'stores/redis/scripts/lua-source.generated.js';

/** One script as the generated file has it: a line of its own. */
const inScript = (name, change) => (source) =>
  source.replace(new RegExp(`^ *"?${name}"?: ".*$`, 'm'), (line) => change(line));

/**
 * Bugs that the checker has to find; else its silence would mean nothing. Each is a change of a few words in a copy of
 * the build. `run` says in which surroundings the bug shows soon.
 */
const PLANTS = {
  'no-owner-check': {
    about: 'release frees the lock, whoever holds it',
    changes: [
      [SCRIPTS, inScript('release', (line) => line.replace(/redis\.pcall\('HGET', lock, [^)]+\)/g, "'1'"))],
    ],
  },
  'deadline-after-reply': {
    about: 'the local deadline counts from the reply instead of from before the request',
    changes: [
      [
        'common/clock.js',
        (source) =>
          source.replace(/function deadlineOf\((\w+), \w+\) \{/, '$& $1 = Math.max($1, performance.now());'),
      ],
    ],
    run: { only: ['replies held'] },
  },
  'no-second-ask': {
    about:
      'nobody asks again, neither after a new subscription nor from time to time: a lost message stays lost',
    changes: [
      ['engine/lock-engine.js', (source) => source.replace(/askAgain = \(\) => \{/, '$& return;')],
      ['engine/queue/queue-ticket.js', (source) => source.replace('Math.min(expiry, POLL)', '1e9')],
    ],
    run: {
      only: ['connections killed by the server'],
      // So many locks that nobody else's request happens to wake those who were forgotten.
      options: { processes: 2, callers: 40, keys: 600 },
      // Nothing takes longer here than a poll.
      rules: { ...RULES_WITH_FAULTS, idleness: 1_300 },
    },
  },
  'token-by-incr': {
    about: 'tokens are counted from 1, so they start again when the server has lost its data',
    changes: [
      [SCRIPTS, inScript('take', (line) => line.replace('first = time[1] .. micros', "first = '1'"))],
      [
        SCRIPTS,
        (source) =>
          source
            .replaceAll('math.max(last + 1, now.us)', 'last + 1')
            .replaceAll('if first > now.us then', 'if true then'),
      ],
    ],
    run: { only: ['server restarted, all data lost', 'process killed'] },
  },
  'automatic-resend': {
    about: 'the Redis client keeps requests for as long as it takes, and sends them again by itself',
    changes: [
      [
        'stores/redis/connection/own-settings.js',
        (source) =>
          source
            .replace('autoResendUnfulfilledCommands: false', 'autoResendUnfulfilledCommands: true')
            .replace('maxRetriesPerRequest: 0', 'maxRetriesPerRequest: null'),
      ],
    ],
    run: {
      only: ['server stopped', 'requests held'],
      rules: { ...RULES_WITH_FAULTS, lateness: 450, latenessOfTries: 700 },
    },
  },
  'endless-turn': {
    about: 'callers of one process pass the lock on among themselves for as long as they like',
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
    changes: [['engine/lease/cohort-budget.js', (source) => source.replace('this.nextToken += 1', '')]],
    run: { options: { faults: false } },
  },
};

export const plantNames = () => Object.keys(PLANTS);

/** The bug can't be planted: the build has changed, and the plant has to follow. */
export class PlantError extends Error {
  name = 'PlantError';
}

/**
 * @param {string} name
 * @returns {{ about: string, run: { only?: string[], options?: object, rules?: object },
 *   into: (build: ReturnType<typeof import('./build-copy.mjs').copyBuild>) => void }}
 */
export function plantOf(name) {
  const { about, changes, run = {} } = PLANTS[name];
  const into = (build) => {
    for (const [file, change] of changes) {
      const source = build.read(file);
      const changed = source === undefined ? source : change(source);
      if (changed === source) {
        throw new PlantError(
          `The bug "${name}" can't be planted: what it changes in ${file} is not in the build any more. Bring test/soak/plants.mjs up to date.`,
        );
      }
      build.write(file, changed);
    }
  };
  return { about, run, into };
}
