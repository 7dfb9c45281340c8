import { noPoll } from './engine.mjs';

export const etcdPlants = {
  'no-poll': noPoll('watch events'),
  'compare-left-out': {
    about: 'a lock is taken without the comparison that it is free',
    finds: ['overlap'],
    changes: [
      [
        'stores/etcd/etcd-driver.js',
        (source) => source.replace('if: [{ ...this.names.lock(key), exists: false }]', 'if: []'),
      ],
    ],
    run: { options: { faults: false } },
  },
  'token-not-increased': {
    about: 'tokens don’t grow with the revisions of etcd',
    finds: ['token-repeated'],
    changes: [
      [
        'stores/ordered/token-base.js',
        (source) => source.replace(/revision \* (\w+\.)?TOKENS_PER_REVISION/, '0'),
      ],
    ],
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
