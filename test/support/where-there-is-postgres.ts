import { describe, it } from '@jest/globals';
import { postgresPrograms } from './postgres-server.js';

/** Tests that need a PostgreSQL; without one they are skipped, and the report says by what they are run. */
export function whereThereIsPostgres(what: string, tests: () => void): void {
  if (postgresPrograms !== undefined) {
    tests();
    return;
  }
  describe(what, () => {
    it.skip('needs PostgreSQL: run it with npm run test:stores', () => undefined);
  });
}
