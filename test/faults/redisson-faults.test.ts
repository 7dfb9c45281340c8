import { describe } from '@jest/globals';
import { serverFaults } from './rules/server-faults.js';
import { RedissonScene } from './scenes/redis-store-scene.js';

describe("faults of Redisson's locks", () => {
  serverFaults(new RedissonScene());
});
