import { everyStoreRules } from './every-store.rules.js';
import { operatedStores } from './operated-stores.js';

everyStoreRules('redisson', operatedStores.redisson);
