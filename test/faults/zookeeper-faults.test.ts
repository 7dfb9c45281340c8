import { describe, expect, it } from '@jest/globals';
import { elapse, next } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is-zookeeper.js';
import { serverFaults } from './rules/server-faults.js';
import { ZooKeeperScene } from './scenes/zookeeper-scene.js';

whereThereIsZooKeeper('faults of ZooKeeper', () => {
  describe('faults of ZooKeeper', () => {
    const scene = new ZooKeeperScene();
    serverFaults(scene);

    it('F10: a lock is kept when its connection is cut, with the same token and in the same session', async () => {
      const proxy = await scene.proxy();
      const app = await scene.app({ port: proxy.port });
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const { id } = scene.session;
      const renewed = next(app.locks.events, (event) => event.type === 'renewed');
      expect(proxy.cut()).toBeGreaterThan(0);
      await renewed;
      expect(scene.session.id).toBe(id);
      expect((await app.admin.inspect(key))?.token).toBe(handle.token);
      expect(await handle.release()).toBe('released');
      await scene.nothingLeft();
    });

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

    it('a session that the servers have ended is replaced by a new one', async () => {
      const proxy = await scene.proxy();
      const app = await scene.app({ port: proxy.port });
      const handle = await app.locks.acquire(scene.key());
      const { id } = scene.session;
      const lost = next(app.locks.events, (event) => event.type === 'lost', 60_000);
      await scene.endSessions(proxy);
      await lost;
      expect(handle.isHeld).toBe(false);
      await app.locks.withLock(scene.key(), { waitTime: 15_000 }, () => undefined);
      expect(scene.session.id).not.toBe(id);
      await scene.nothingLeft();
    });
  });
});
