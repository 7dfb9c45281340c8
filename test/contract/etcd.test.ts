import { whereThereIsEtcd } from '../support/where-there-is.js';
import { lockStoreContract } from './lock-store.contract.js';
import { stores } from './stores.js';

whereThereIsEtcd('the contract of etcd', () => {
  lockStoreContract('etcd', stores.etcd);
});
