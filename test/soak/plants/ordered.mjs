import { noPoll } from './engine.mjs';

/** Bugs of what etcd and ZooKeeper have in common. */
const orderedPlants = {
  'no-poll': noPoll('watch events'),
  'token-not-increased': {
    about: 'tokens don’t grow with the revisions of etcd, or the transactions of ZooKeeper',
    finds: ['token-repeated'],
    changes: [['stores/ordered/token-base.js', /revision \* (\w+\.)?TOKENS_PER_REVISION/, '0']],
    run: { options: { faults: false } },
  },
  'lease-cut-short': {
    about: 'waiters end a lease after a fifth of it',
    finds: ['overlap'],
    changes: [['stores/ordered/observed-leases.js', 'lease * 1.01 + 20', 'lease * 0.2']],
    run: { options: { faults: false } },
  },
};

export const etcdPlants = {
  ...orderedPlants,
  'compare-left-out': {
    about: 'a lock is taken without the comparison that it is free',
    finds: ['overlap'],
    changes: [['stores/etcd/etcd-driver.js', 'if: [{ ...this.names.lock(key), exists: false }]', 'if: []']],
    run: { options: { faults: false } },
  },
};

export const zookeeperPlants = {
  ...orderedPlants,
  'compare-left-out': {
    about: 'a waiter claims the lock whatever its position in the queue',
    finds: ['overlap'],
    changes: [['stores/ordered/acquirer.js', 'if (index < queue.holderCount)', 'if (index >= 0)']],
    run: { options: { faults: false } },
  },
};
