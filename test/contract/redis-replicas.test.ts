import { lockStoreContract } from './lock-store.contract.js';
import { topologies } from './topologies.js';

lockStoreContract('redis with confirmed grants', topologies['sentinel with confirmed grants']);
