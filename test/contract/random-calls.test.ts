import { describe } from '@jest/globals';
import { ContractContext } from './contract-context.js';
import { randomCallRules } from './random-calls.rules.js';
import { stores } from './stores.js';

describe('calls of a store in memory', () => {
  randomCallRules(new ContractContext(stores.memory));
});
