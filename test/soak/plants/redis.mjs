import { RULES_WITH_FAULTS } from '../history-checker.mjs';
import { noPoll, MANY_KEYS, WITHOUT_POLLS } from './engine.mjs';

const SCRIPTS = 'stores/redis/scripts/lua-source.generated.js';
const SETTINGS = 'stores/redis/connection/own-settings.js';

/** Changes one script in the generated file, where each script is one line. */
const inScript = (name, change) => (source) =>
  source.replace(new RegExp(`^ *"?${name}"?: \\{.*$`, 'm'), (line) => change(line));

export const redisPlants = {
  'no-owner-check': {
    about: 'a release frees the lock of any owner',
    finds: ['overlap'],
    changes: [
      [SCRIPTS, inScript('release', (line) => line.replace(/redis\.pcall\('HGET', lock, [^)]+\)/g, "'1'"))],
    ],
  },
  'no-second-ask': {
    about: 'waiters poll neither after a new subscription nor periodically: a lost message stays lost',
    finds: ['left-lying', 'free-in-vain'],
    changes: [['engine/lock-engine.js', /pollNow = \(\) => \{/, '$& return;'], WITHOUT_POLLS],
    run: { only: ['connections killed by the server'], ...MANY_KEYS },
  },
  'no-poll': noPoll('messages'),
  'token-by-incr': {
    about: 'tokens start at 1, and so start again when the server has lost its data',
    finds: ['token-fell-back'],
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
    about: 'the Redis client keeps requests indefinitely and sends them again automatically',
    finds: ['late'],
    changes: [
      [SETTINGS, 'autoResendUnfulfilledCommands: false', 'autoResendUnfulfilledCommands: true'],
      [SETTINGS, 'maxRetriesPerRequest: 0', 'maxRetriesPerRequest: null'],
    ],
    run: {
      only: ['server stopped', 'requests held'],
      rules: { ...RULES_WITH_FAULTS, lateness: 450, latenessOfTries: 700 },
    },
  },
};
