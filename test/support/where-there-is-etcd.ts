import { describe, it } from '@jest/globals';
import { etcdProgram } from './etcd-server.js';

/** Tests that need an etcd; without one they are skipped, and the report says by what they are run. */
export function whereThereIsEtcd(what: string, tests: () => void): void {
  if (etcdProgram !== undefined) {
    tests();
    return;
  }
  describe(what, () => {
    it.skip('needs etcd: run it with npm run test:stores', () => undefined);
  });
}
