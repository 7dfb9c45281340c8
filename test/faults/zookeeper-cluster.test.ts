import { describe } from '@jest/globals';
import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { groupFaults } from './rules/group.rules.js';
import { groups } from './scenes/server-group.js';

whereThereIsZooKeeper('faults of a ZooKeeper ensemble', () => {
  describe('faults of a ZooKeeper ensemble', () => {
    groupFaults(groups.zookeeper);
  });
});
