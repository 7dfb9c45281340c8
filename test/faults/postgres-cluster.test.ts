import { describe } from '@jest/globals';
import { whereThereIsPostgres } from '../support/where-there-is.js';
import { groupFaults } from './rules/group.rules.js';
import { groups } from './scenes/server-group.js';

whereThereIsPostgres('faults of a PostgreSQL with a standby', () => {
  describe('faults of a PostgreSQL with a standby', () => {
    groupFaults(groups.postgres);
  });
});
