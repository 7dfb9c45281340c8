import { delayed } from './delayed.js';
import { lockStoreContract } from './lock-store.contract.js';

lockStoreContract('redis 10 ms away', delayed['redis-10ms']);
