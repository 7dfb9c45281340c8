import { whereThereIsPostgres } from '../../support/where-there-is.js';
import { everyStoreRules } from './every-store.rules.js';
import { operatedStores } from './operated-stores.js';

whereThereIsPostgres('operating postgres', () => {
  everyStoreRules('postgres', operatedStores.postgres);
});
