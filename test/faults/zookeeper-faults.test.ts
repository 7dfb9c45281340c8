import { describe, expect, it } from '@jest/globals';
import { elapse } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { serverFaults } from './rules/server-faults.js';
import { ZooKeeperScene } from './scenes/zookeeper-scene.js';

whereThereIsZooKeeper('faults of ZooKeeper', () => {
  describe('faults of ZooKeeper', () => {
    const scene = new ZooKeeperScene();
    serverFaults(scene);

    it('B60: a hold that is left to expire at shutdown ends with its lease, also for callers that arrive later', async () => {
      const [leaving, rival] = [await scene.app({ shutdownTimeout: 1 }), await scene.app()];
      const key = scene.key();
      const start = performance.now();
      await leaving.locks.acquire(key, { leaseTime: 6_000 });
      await elapse(5_000);
      await leaving.close();
      const second = await rival.locks.acquire(key, { waitTime: 30_000 });
      const after = performance.now() - start;
      expect(after).toBeGreaterThanOrEqual(5_990);
      // Less than a whole lease from then on.
      expect(after).toBeLessThan(10_500);
      await second.release();
      await scene.nothingLeft();
    });
  });
});
