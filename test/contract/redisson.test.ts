import { lockStoreContract } from './lock-store.contract.js';
import { stores } from './stores.js';

lockStoreContract('redisson', stores.redisson, 'exclusive');
