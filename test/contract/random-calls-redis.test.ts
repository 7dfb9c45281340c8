import { describe } from '@jest/globals';
import { ContractContext } from './contract-context.js';
import { delayed } from './delayed.js';
import { randomCallRules } from './random-calls.rules.js';
import { stores } from './stores.js';

describe('calls of one Redis', () => {
  randomCallRules(new ContractContext(stores.redis), 2);
});

describe('calls of one Redis 10 ms away', () => {
  randomCallRules(new ContractContext(delayed['redis-10ms']), 2);
});

describe('calls of a quorum', () => {
  randomCallRules(new ContractContext(stores.quorum), 1);
});
