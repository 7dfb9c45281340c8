import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { describe } from '@jest/globals';
import { ContractContext } from './contract-context.js';
import { crashRules } from './crash.rules.js';
import { leaderRules } from './leader.rules.js';
import { lockStoreContract } from './lock-store.contract.js';
import { stores, zookeeperInRealTime } from './stores.js';

whereThereIsZooKeeper('the contract of zookeeper', () => {
  lockStoreContract('zookeeper', stores.zookeeper);
  describe('contract of zookeeper in real time', () => {
    const context = new ContractContext(zookeeperInRealTime);
    crashRules(context);
    leaderRules(context);
  });
});
