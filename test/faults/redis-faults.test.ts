import { describe } from '@jest/globals';
import { serverFaults } from './rules/server-faults.js';
import { RedisStoreScene } from './scenes/redis-store-scene.js';

describe('faults of Redis', () => {
  serverFaults(new RedisStoreScene());
});
