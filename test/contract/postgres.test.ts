import { whereThereIsPostgres } from '../support/where-there-is.js';
import { lockStoreContract } from './lock-store.contract.js';
import { stores } from './stores.js';

whereThereIsPostgres('the contract of postgres', () => {
  lockStoreContract('postgres', stores.postgres);
});
