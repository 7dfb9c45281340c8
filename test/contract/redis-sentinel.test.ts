import { lockStoreContract } from './lock-store.contract.js';
import { topologies } from './topologies.js';

lockStoreContract('redis by sentinel', topologies.sentinel);
