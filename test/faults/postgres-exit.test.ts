import { describe } from '@jest/globals';
import { whereThereIsPostgres } from '../support/where-there-is-postgres.js';
import { exitRules } from './rules/exit.rules.js';
import { PostgresScene } from './scenes/postgres-scene.js';

whereThereIsPostgres('the end of a process with PostgreSQL', () => {
  describe('the end of a process with PostgreSQL', () => {
    exitRules(new PostgresScene());
  });
});
