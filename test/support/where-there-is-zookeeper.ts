import { describe, it } from '@jest/globals';
import { zooKeeperLibraries } from './zookeeper-server.js';

/** Tests that need a ZooKeeper; without one they are skipped, and the report says by what they are run. */
export function whereThereIsZooKeeper(what: string, tests: () => void): void {
  if (zooKeeperLibraries !== undefined) {
    tests();
    return;
  }
  describe(what, () => {
    it.skip('needs ZooKeeper and Java: run it with npm run test:stores', () => undefined);
  });
}
