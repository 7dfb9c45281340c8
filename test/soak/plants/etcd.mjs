import { noPoll } from './engine.mjs';

const LOCKS = 'stores/etcd/locks/';

export const etcdPlants = {
  'no-poll': noPoll('watch events'),
  'compare-left-out': {
    about: 'a lock is taken without the comparison that it is free',
    finds: ['overlap'],
    changes: [
      [
        LOCKS,
        (source) => source.replace(/(freeConditions\([^)]*\) \{\s*return \[)noNewEntry\([^)]*\), /, '$1'),
      ],
    ],
    run: { options: { faults: false } },
  },
  'token-not-increased': {
    about: 'tokens don’t grow with the revisions of etcd',
    finds: ['token-repeated'],
    changes: [[LOCKS, (source) => source.replace(/revision \* (exports\.)?TOKENS_PER_REVISION/, '0')]],
    run: { options: { faults: false } },
  },
  'lease-cut-short': {
    about: 'waiters end a lease after a fifth of it',
    finds: ['overlap'],
    changes: [
      ['stores/ordered/observed-leases.js', (source) => source.replace('lease * 1.01 + 20', 'lease * 0.2')],
    ],
    run: { options: { faults: false } },
  },
};
