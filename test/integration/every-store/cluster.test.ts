import { everyStoreRules } from './every-store.rules.js';
import { operatedStores } from './operated-stores.js';

everyStoreRules('cluster', operatedStores.cluster);
