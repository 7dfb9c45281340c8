import { lockStoreContract } from './lock-store.contract.js';
import { topologies } from './topologies.js';

lockStoreContract(
  "a redis cluster with Redisson's locks",
  topologies['cluster with the locks of Redisson'],
  'exclusive',
);
