import { describe } from '@jest/globals';
import { whereThereIsEtcd } from '../support/where-there-is.js';
import { groupFaults } from './rules/group.rules.js';
import { groups } from './scenes/server-group.js';

whereThereIsEtcd('faults of an etcd cluster', () => {
  describe('faults of an etcd cluster', () => {
    groupFaults(groups.etcd);
  });
});
