import { STRICT_RULES } from '../history-checker.mjs';
import { noPoll } from './engine.mjs';

const SCHEMA = 'stores/postgres/';

export const postgresPlants = {
  'no-poll': noPoll('notifications'),
  'standby-left-behind': {
    about: 'commits don’t wait for the standby, so that a failover loses the last ones',
    finds: ['overlap', 'token-order'],
    changes: [
      ['stores/postgres/start-check.js', "['statement_timeout = 0'", "$&, 'synchronous_commit = local'"],
    ],
    run: { only: ['standby promoted'], options: { lasting: true, keys: 100, callers: 100 } },
  },
  'compare-left-out': {
    about: 'a release deletes the hold of any owner',
    finds: ['overlap'],
    changes: [
      [SCHEMA, 'WHERE h.key = k AND h.owner = o\n    RETURNING h.ends', 'WHERE h.key = k RETURNING h.ends'],
    ],
  },
  'token-not-increased': {
    about: 'a grant gets the last token instead of the next one',
    finds: ['token-repeated'],
    changes: [[SCHEMA, 'greatest(nextval(${sequence}), now)', '(SELECT last_value FROM $${s}.tokens)']],
    run: { options: { faults: false } },
  },
  'lease-cut-short': {
    about: 'a lease counts as expired 1.2 s early',
    finds: ['overlap'],
    changes: [[SCHEMA, 'h.key = k AND h.ends <= now;', 'h.key = k AND h.ends <= now + 1200000;']],
    run: { options: { faults: false } },
  },
  'expiry-ignored': {
    about: 'an expired lease is not ended',
    finds: ['left-lying', 'free-in-vain', 'left-behind'],
    changes: [[SCHEMA, 'h.key = k AND h.ends <= now;', 'h.key = k AND false;']],
    run: { only: ['process killed'] },
  },
  'last-come-first-served': {
    about: 'the last waiter is served first',
    finds: ['overtaken'],
    changes: [[SCHEMA, 'ORDER BY w.ticket LOOP', 'ORDER BY w.ticket DESC LOOP']],
    run: { options: { faults: false }, rules: STRICT_RULES },
  },
};
