import { whereThereIsZooKeeper } from '../support/where-there-is-zookeeper.js';
import { lockStoreContract } from './lock-store.contract.js';
import { stores } from './stores.js';

whereThereIsZooKeeper('the contract of zookeeper', () => {
  lockStoreContract('zookeeper', stores.zookeeper);
});
