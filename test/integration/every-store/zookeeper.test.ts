import { whereThereIsZooKeeper } from '../../support/where-there-is.js';
import { everyStoreRules } from './every-store.rules.js';
import { operatedStores } from './operated-stores.js';

whereThereIsZooKeeper('operating zookeeper', () => {
  everyStoreRules('zookeeper', operatedStores.zookeeper);
});
