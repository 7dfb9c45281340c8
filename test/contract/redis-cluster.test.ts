import { lockStoreContract } from './lock-store.contract.js';
import { topologies } from './topologies.js';

lockStoreContract('a redis cluster', topologies.cluster);
