import { whereThereIsEtcd } from '../../support/where-there-is.js';
import { everyStoreRules } from './every-store.rules.js';
import { operatedStores } from './operated-stores.js';

whereThereIsEtcd('operating etcd', () => {
  everyStoreRules('etcd', operatedStores.etcd);
});
