import { delayed } from './delayed.js';
import { lockStoreContract } from './lock-store.contract.js';

lockStoreContract('redis 40 ms away', delayed['redis-40ms']);
